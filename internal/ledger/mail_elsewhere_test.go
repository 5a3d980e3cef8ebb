package ledger

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"custos/docs"
	"custos/internal/fleet"
)

// town is a fleet with an agent of each kind, watched by its lead.
func town(more ...fleet.Registration) Addresses {
	all := append([]fleet.Registration{
		{Name: "lead-1", Role: "lead", Project: "shop"}, {Name: "nux", Role: "polecat", Project: "shop"}, {Name: "gt-shop-toast", Role: "builder", Project: "shop"},
		{Name: "max", Role: "crew", Project: "shop"}, {Name: "sue", Role: "scout", Project: "site"}, {Name: "rex", Role: "reviewer", Project: "site"},
		{Name: "alpha", Role: "dog"}, {Name: "old", Role: "builder", Project: "site", Desired: fleet.DesiredRetired},
	}, more...)
	for i := range all {
		all[i].Instance = "i-" + all[i].Name
	}
	return AddressesOf(all).Watched(fleet.CoordinationPolicy{Watcher: "rex", Watchers: map[string]string{"shop": "role/lead"}})
}

// sentTo are whom mail to an address reaches, joined; or the error, behind a !.
func sentTo(t *testing.T, c Addresses, by, to string) string {
	t.Helper()
	m, err := SendMail(fleet.Records{}, c, fleet.Mail{To: []string{to}, Subject: "hello"}, by, at(0))
	if err != nil {
		want(t, err, ErrIllegal)
		return "!" + err.Error()
	}
	var names []string
	for _, r := range m.Copies {
		names = append(names, r.To)
	}
	return strings.Join(slices.Sorted(slices.Values(names)), " ")
}

// The page says each address of another system that is taken, and none else. What each one reaches is
// tried in a town where nobody has the parts that people and Custos do.
func TestMailAddressesOfThePage(t *testing.T) {
	reaches := map[string]string{
		"coordinator": "overseer", "orchestrator": "overseer", "mayor": "overseer", "mayor/": "overseer", "gateway": "overseer", "cto": "overseer",
		"human": "overseer", "@overseer": "overseer", "monitor": "rex", "merger": "rex", "deacon": "rex", "deacon/": "rex",
		"RIG/witness": "lead-1", "RIG/refinery": "lead-1", "RIG/NAME": "nux", "RIG/polecats/NAME": "nux", "RIG/crew/NAME": "nux", "deacon/dogs/NAME": "nux",
		"RIG/": "gt-shop-toast lead-1 max nux", "RIG/*": "gt-shop-toast lead-1 max nux", "@rig/RIG": "gt-shop-toast lead-1 max nux",
		"RIG/polecats": "gt-shop-toast nux", "@polecats/RIG": "gt-shop-toast nux", "RIG/crew": "max", "@crew/RIG": "max", "@town": "alpha",
		"@workspace": "alpha gt-shop-toast lead-1 max nux rex sue", "@builders": "gt-shop-toast", "@scouts": "sue", "@reviewers": "rex", "@leads": "lead-1", "@crew": "max", "@dogs": "alpha",
		"@supervisors": "lead-1", "@coordinators": "overseer", "@mergers": "rex", "@monitors": "rex", "@witnesses": "rex", "@refineries": "rex", "@deacons": "rex",
		"list:NAME": "!keeps no lists", "queue:NAME": "!keeps no lists", "announce:NAME": "!keeps no lists", "channel:NAME": "!keeps no lists", "group:NAME": "!keeps no lists",
	}
	for _, address := range addressesOfThePage(t) {
		want, tried := reaches[address]
		got := sentTo(t, town(), "agent/somebody", strings.NewReplacer("RIG", "shop", "NAME", "nux").Replace(address))
		if !tried || got != want && !(strings.HasPrefix(want, "!") && strings.Contains(got, want[1:])) {
			t.Errorf("%s reaches %q, want %q", address, got, want)
		}
		delete(reaches, address)
	}
	for address := range reaches {
		t.Errorf("the page does not say %s", address)
	}
}

// addressesOfThePage are those of the first column of the table of docs/mail.md.
func addressesOfThePage(t *testing.T) (out []string) {
	page, ok := docs.Get("mail")
	_, table, found := strings.Cut(page.Text, "### Addresses of Legio and Gas Town")
	table, _, ended := strings.Cut(table, "\n## ")
	if !ok || !found || !ended {
		t.Fatal("the page has no such table")
	}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
				out = append(out, m[1])
			}
		}
	}
	return out
}

// An agent that does a part is written to before people and watchers are; what an agent is called, and what
// Custos' own addresses mean, goes before all.
func TestMailAddressesOfOtherSystems(t *testing.T) {
	c := town(fleet.Registration{Name: "ann", Role: "coordinator"}, fleet.Registration{Name: "gt-shop-witness", Role: "witness", Project: "shop"},
		fleet.Registration{Name: "monitor", Role: "x"}, fleet.Registration{Name: "hq-nux", Role: "polecat"}, fleet.Registration{Name: "shop/sam"})
	for address, want := range map[string]string{
		"mayor/": "ann", "orchestrator": "ann", "@Coordinators": "ann", "shop/witness": "gt-shop-witness", "@witness": "gt-shop-witness", "site/witness": "rex",
		"monitor": "monitor", "shop/nux": "nux", "shop/polecats/toast": "gt-shop-toast", "shop/sam": "shop/sam", "@town": "alpha ann hq-nux monitor shop/sam",
		"*/witness": "gt-shop-witness", "shop/crew/*": "max", "deacon/dogs/alpha": "alpha", "deacon/dogs/nx": "!means no other agent", "agent/monitor": "monitor",
		"agent/mayor": `!nobody is called "mayor"`, "shpo/witness": `!there is no project "shpo" that shpo/witness could be of, did you mean "shop"?`,
		"shop/nx": "!shop/nx means no other agent that could read it", "shop/maxx": `did you mean "max"?`, "site/old": "old", "site/builders": "!means no other agent",
		"@polecats/site": "!@polecats/site means no other agent", "@team": `!there is no group "@team"`, "@rig/": "!there is no group", "a/b/c": "!nobody is called", "//": "!nobody is called", "builder": "!nobody is called",
	} {
		if got := sentTo(t, c, "agent/somebody", address); got != want && !(strings.HasPrefix(got, "!") && strings.Contains(got, strings.TrimPrefix(want, "!"))) {
			t.Errorf("%s reaches %q, want %q", address, got, want)
		}
	}
	if got := sentTo(t, town(fleet.Registration{Name: "gt-shop-nux", Role: "polecat", Project: "site"}, fleet.Registration{Name: "hq-sue", Project: "site"}, fleet.Registration{Name: "gt-sue"}), "ann", "site/polecats/sue"); got != "sue" {
		t.Errorf("the one that is called exactly so: %q", got)
	}
	if got := sentTo(t, town(fleet.Registration{Name: "gt-a-ivy", Project: "site"}, fleet.Registration{Name: "gt-b-ivy", Project: "site"}), "ann", "site/ivy"); !strings.Contains(got, "site/ivy may mean each of gt-a-ivy, gt-b-ivy") {
		t.Errorf("two that may be meant: %q", got)
	}
	if got := sentTo(t, town(), "agent/lead-1", "shop/witness"); got != "overseer" {
		t.Errorf("a watcher who asks what Custos does: %q", got)
	}
}

// Whoever is reached is an agent that may be reached, or people; the writer never is, and no group reaches
// who is gone.
func FuzzMailAddress(f *testing.F) {
	for _, s := range []string{"mayor/", "shop/polecats/nux", "@crew/shop", "*/witness", "RIG/*", "list:x", "@rig//", "deacon/dogs/alpha", "@overseer", "///", "@", "shop/ "} {
		f.Add(s, "nux")
	}
	c := town()
	f.Fuzz(func(t *testing.T, address, self string) {
		list, err := c.readers(address, self)
		if err != nil {
			if !errors.Is(err, ErrIllegal) || len(list) != 0 || utf8.ValidString(address) && !utf8.ValidString(err.Error()) {
				t.Fatalf("%q: %v, %v", address, list, err)
			}
			return
		}
		for _, r := range list {
			if r.name == self || r.name != fleet.Overseer && c.At[r.name] == nil || r.group && c.Gone(r.name) != "" {
				t.Fatalf("%q by %q reaches %+v", address, self, r)
			}
		}
	})
}

// No address of Custos' own is read otherwise because of an agent of another system's words.
func TestOwnAddressesStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		role := rapid.SampledFrom([]string{"mayor", "witness", "lead", "builder"}).Draw(t, "role")
		name := rapid.SampledFrom([]string{"mayor", "witness", "deacon", "human", "gateway"}).Draw(t, "name")
		c := town(fleet.Registration{Name: name, Role: role, Project: rapid.SampledFrom([]string{"", "shop"}).Draw(t, "project")})
		for _, own := range []string{"overseer", "agent/" + name, name} {
			list, err := c.readers(own, "x")
			if to := strings.TrimPrefix(own, "agent/"); err != nil || len(list) != 1 || list[0].name != to {
				t.Fatalf("%s: %v, %v", own, list, err)
			}
		}
	})
}
