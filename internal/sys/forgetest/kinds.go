package forgetest

import (
	"custos/internal/sys/forge"
	"custos/internal/sys/forge/gitlab"
)

// Kinds lists the names of the kinds that this fake can be.
func Kinds() []string { return []string{"forgejo", "gitea", "github", "gitlab"} }

// Kind is the client of one of Kinds.
func Kind(name string) forge.Kind {
	return map[string]forge.Kind{"forgejo": forge.Forgejo(), "gitea": forge.Gitea(), "github": forge.GitHub(), "gitlab": gitlab.Kind()}[name]
}
