ln -s /tmp t
