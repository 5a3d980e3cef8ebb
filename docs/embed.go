// Package docs holds the pages for those who use Custos, and the runbooks that alerts
// name, so that the binary can show them: an installed user has no checkout.
package docs

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

// What is for developers only stays out, and so does cli.md: `custos help` says the same.
//
//go:embed runbooks/*.md
//go:embed accounts.md boundary.md budgets.md ci.md config.md containers.md convoys.md costs.md doctor.md edge.md faq.md forges.md formulas.md gates.md glossary.md guards.md hosts.md install.md mail.md merge.md metrics.md notifications.md plugins.md policy.md report.md roles.md rules.md service.md simulate.md stability.md states.md threat-model.md top.md triage.md tutorial.md upgrade.md vault.md web.md work.md
//go:embed adding-a-kind.md adding-a-probe.md adding-a-rule.md
var files embed.FS

// beyond is what the part of a page stands behind that is for who changes Custos only.
const beyond = "<!-- What follows is for who changes Custos, and is not in the binary. -->"

// Page is one page, in Markdown.
type Page struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Text  string `json:"text,omitempty"`
}

// Runbooks lists what to do when something is wrong, by name, without their texts.
func Runbooks() []Page { return list("runbooks/") }

// Pages lists how things work, by name, without their texts.
func Pages() []Page { return list("") }

// Runbook returns one runbook by its name.
func Runbook(name string) (Page, bool) { return read("runbooks/", name) }

// Get returns one page by its name.
func Get(name string) (Page, bool) { return read("", name) }

func list(folder string) (pages []Page) {
	names, err := fs.Glob(files, folder+"*.md")
	if err != nil {
		return nil // the pattern is a constant
	}
	for _, file := range names {
		p, _ := read(folder, strings.TrimSuffix(path.Base(file), ".md"))
		p.Text = ""
		pages = append(pages, p)
	}
	return pages
}

func read(folder, name string) (Page, bool) {
	text, err := files.ReadFile(folder + name + ".md")
	if err != nil || strings.Contains(name, "/") {
		return Page{}, false
	}
	page, _, _ := strings.Cut(string(text), beyond)
	first, _, _ := strings.Cut(page, "\n")
	return Page{Name: name, Title: strings.TrimPrefix(first, "# "), Text: strings.TrimRight(page, "\n") + "\n"}, true
}
