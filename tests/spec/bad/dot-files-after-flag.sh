mkdir other
