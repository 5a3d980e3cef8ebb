package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"custos/internal/api"
)

func (a *app) kindsCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "kinds",
		Example: "  custos kinds\n  custos kinds --json",
		Short:   "The kinds of agent CLI that are known, from where, and on which versions they were proven",
		RunE:    asksFor(a, (*api.Client).Kinds, writeKinds),
	}
}

func writeKinds(p *page, k api.Kinds) {
	p.table([]column{{head: "KIND"}, {head: "ON PATH"}, {head: "PROVEN ON", shorten: cut}, {head: "FROM", shorten: middle}, {head: "NEVER TOLD", shorten: cut}}, each(k.Kinds, func(k api.Kind) []string {
		from := cmp.Or(p.path(strings.Join(k.From, ", ")), "built in")
		if k.Disabled {
			from += " (disabled)"
		}
		return []string{flat(k.Name), onPath(k), cmp.Or(flat(strings.Join(k.Proven, ", ")), "not proven"), from, flat(strings.Join(k.Never, "; "))}
	}))
	if slices.ContainsFunc(k.Kinds, func(k api.Kind) bool { return k.Outgrown != "" }) {
		p.text(0, "* newer than what Custos was taught: what its screen shows is a hint only, see custos help states.md")
	}
	for _, why := range k.Aside {
		p.text(0, "set aside: "+flat(why))
	}
}

// onPath is the version of the CLI that is there; newer than what was taught is marked.
func onPath(k api.Kind) string {
	switch {
	case k.Path == "":
		return "–"
	case k.Outgrown != "":
		return flat(k.Version) + "*"
	}
	return cmp.Or(flat(k.Version), "version not known")
}

// checkKinds refuses files of kinds that are set aside. The daemon goes on without them.
func checkKinds(k api.Kinds) error {
	if len(k.Aside) == 0 {
		return nil
	}
	return usage("%s", strings.Join(slices.Sorted(slices.Values(k.Aside)), "\n"))
}
