package rules

import "custos/internal/fleet"

func codeWords() *structure {
	type T = fleet.CodeFacts
	return define("code", "One folder of formulas and plugins in a repository, where agents may write: what its primary branch has, and what of that may be run.",
		text("dir", "where it is", func(c *T) string { return c.Dir }),
		text("project", "the project it belongs to; empty for a folder of [formulas] or [plugins]", func(c *T) string { return c.Project }),
		text("commit", "the commit it was read from", func(c *T) string { return c.Commit }),
		text("digest", "of all of its files, as that commit has them", func(c *T) string { return c.Digest }),
		number("trusted", "how many files are as a person approved of them", func(c *T) int { return c.Trusted }),
		leafText("changes", "what nobody approved of: '+ path' is new, '~ path' has changed, '- path' is gone; empty when all of it is trusted", func(c *T) *leafString { return &c.Changes }),
		text("loose", "what lies in the folder otherwise than in that commit; it is never run; empty when nothing does", func(c *T) string { return c.Loose }),
		text("diff", "the changes, cut", func(c *T) string { return c.Diff }),
	)
}
