// placeholder, see below
