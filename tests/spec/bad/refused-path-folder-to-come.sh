mkdir go
