package api

import "strings"

// quote writes one argument the way a person types it in a shell.
func quote(arg string) string {
	plain := arg != ""
	for _, r := range arg {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,", r) {
			plain = false
		}
	}
	if plain {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// Typed is a command the way a person types it.
func Typed(argv ...string) string {
	out := make([]string, len(argv))
	for i, a := range argv {
		out[i] = quote(a)
	}
	return strings.Join(out, " ")
}
