// Package setup decides what `custos setup` proposes: out of a recording of what Custos sees,
// which places agents work in and whose they are; out of what a person chose, the text of a
// small custos.toml; for a shell, where its completion belongs; and the lines of a tmux.conf.
// Values in, values out.
package setup
