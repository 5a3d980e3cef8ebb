package rules

import _ "embed"

//go:embed rules.toml
var builtin []byte

// Builtin returns the rule table Custos comes with.
func Builtin() []byte { return append([]byte(nil), builtin...) }
