mkdir -p settings/link
