package citest

import (
	"custos/internal/sys/ci"
	"custos/internal/sys/ci/gitlab"
)

// Kinds lists the names of the kinds that this fake can be.
func Kinds() []string {
	return []string{"woodpecker", "forgejo-actions", "gitea-actions", "github-actions", "gitlab-ci"}
}

// Kind is the client of one of Kinds.
func Kind(name string) ci.Kind {
	return map[string]ci.Kind{"woodpecker": ci.Woodpecker(), "forgejo-actions": ci.ForgejoActions(), "gitea-actions": ci.GiteaActions(),
		"github-actions": ci.GitHubActions(), "gitlab-ci": gitlab.Kind()}[name]
}
