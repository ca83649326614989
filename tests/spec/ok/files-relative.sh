mkdir specs/data specs/more
