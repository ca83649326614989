mkdir specs/data
