package forgetest

import "custos/internal/sys/forge"

// Kinds lists the names of the kinds that this fake can be.
func Kinds() []string { return []string{"forgejo", "gitea", "github"} }

// Kind is the client of one of Kinds.
func Kind(name string) forge.Kind {
	return map[string]forge.Kind{"forgejo": forge.Forgejo(), "gitea": forge.Gitea(), "github": forge.GitHub()}[name]
}
