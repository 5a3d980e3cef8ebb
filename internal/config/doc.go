// Package config reads custos.toml, checks it, and fills in the defaults. In
// goes one TOML file and the environment; out comes a Config, or every mistake
// of the file at once, each with its line and the nearest valid name.
//
// The package knows nothing of probes, actions or rules: a plug-in's section
// stays raw until the plug-in asks for it with Section, and the tables "rule"
// and "kind" are left to the packages that own them.
package config
