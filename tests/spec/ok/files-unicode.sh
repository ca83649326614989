mkdir "my προ ject é ✓"
