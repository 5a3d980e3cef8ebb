package server

import "custos/internal/fleet"

// roleBook has no policy for anyone.
type roleBook struct{}

func (roleBook) Policy(string) (name, key string) { return "", "" }

func (roleBook) Line(_, _ string) string {
	return ""
}
func (roleBook) Context(_ fleet.Role, prompt string) (string, []string, string, error) {
	return "", nil, prompt, nil
}
func (roleBook) Unread(fleet.Role) string { return "" }
func (roleBook) Untold(fleet.Role) string { return "" }
func (roleBook) Gone(fleet.Role) string   { return "" }
