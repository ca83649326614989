mkdir -p code/app/.venv/bin; touch code/app/.venv/pyvenv.cfg
