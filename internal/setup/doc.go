// Package setup decides what `custos setup` proposes: out of a recording of what Custos sees,
// which places agents work in and whose they are; out of what a person chose, the text of a
// small custos.toml; and for a shell, where its completion belongs. Values in, values out.
package setup
