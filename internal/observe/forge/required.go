package forge

import (
	"slices"

	"github.com/gobwas/glob"

	"custos/internal/sys/forge"
)

// wanted are the newest results of the contexts that count, and whether a required
// one is missing.
func wanted(all []forge.Check, required []string) (out []forge.Check, missing bool) {
	if len(required) == 0 {
		return all, false
	}
	for _, r := range required {
		found, fits := false, contextGlob(r)
		for _, c := range all {
			if c.Context != r && (fits == nil || !fits.Match(c.Context)) {
				continue
			}
			found = true
			if !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
		missing = missing || !found
	}
	return out, missing
}

// contextGlob is a required context as a Gitea reads it: a glob without a separator
// (go-gitea/gitea, services/pull/commit_status.go), in which a star is any text, slashes
// too. GitHub's are plain names, which fit themselves whatever is in them; nil: it is no glob.
func contextGlob(required string) *glob.Pattern {
	g, err := glob.Compile(required)
	if err != nil {
		return nil
	}
	return g
}
