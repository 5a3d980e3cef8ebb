package server

import "custos/internal/fleet"

// asked is the key of what somebody asks for. It is never one of Custos' own: by
// those a step finds its gate, and news is told once.
func asked(key string) string {
	if key == "" {
		return ""
	}
	return "asked/" + fleet.Line(key, 200)
}
