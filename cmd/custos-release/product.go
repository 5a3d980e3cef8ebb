package main

import (
	_ "embed"

	"custos/internal/release"
)

// product is what is packed by itself: who has one host gets no server onto the disk.
type product struct {
	name, description string
	recommends        []string
	texts             []string // of the archive, beside the programs, LICENSE and NOTICE
	folders           []string // of the archive
	overrides         string
	// What package managers run.
	postInstall, preRemove, postRemove string
}

// What package managers run and read besides.
var (
	//go:embed packaging/prerm
	preRemove string
	//go:embed packaging/postinst
	postInstall string
	//go:embed packaging/postrm
	postRemove string
	//go:embed packaging/copyright
	copyright string
	//go:embed packaging/lintian-overrides
	overrides string
)

// The same of the hub, and its unit and man page.
var (
	//go:embed packaging/hub/prerm
	hubPreRemove string
	//go:embed packaging/hub/postinst
	hubPostInstall string
	//go:embed packaging/hub/postrm
	hubPostRemove string
	//go:embed packaging/hub/lintian-overrides
	hubOverrides string
	//go:embed packaging/hub/custos-hub.service
	hubUnit string
	//go:embed packaging/hub/custos-hub.8
	hubPage string
)

const (
	hubName     = "custos-hub"
	hubUnitName = "custos-hub.service"
	hubPageName = "custos-hub.8"
)

const description = `Init system and on-call engineer for fleets of AI coding agents
Custos watches what such a fleet stands on (the host, tmux, agent
processes, git worktrees, locks, logs), starts and keeps agents, grades
what is wrong from P0 to P4, mends what can be mended safely, and writes
down what it saw and did.

Installing it starts nothing, and removing it ends no agent.`

const hubDescription = `Hub that several hosts with Custos join
Hosts that act on the same forges, pipelines and branches know by it
which of them does. It is a server, of which one machine, or three, have
a node; the hosts themselves need custos and not this.

Installing it starts nothing: custos hub init makes its folder.`

// custosItself is what watches a machine, or is a client of those that are watched.
func custosItself() product {
	return product{name: "custos", description: description, recommends: []string{"tmux", "git"}, texts: []string{"custos.service", "custos.toml"},
		folders: []string{"completions", "docs", "docs/runbooks", "man/man1"}, overrides: overrides,
		postInstall: postInstall, preRemove: preRemove, postRemove: postRemove}
}

// hubProduct is a node of a hub.
func hubProduct() product {
	return product{name: hubName, description: hubDescription, recommends: []string{"custos"}, texts: []string{hubUnitName, hubPageName},
		overrides: hubOverrides, postInstall: hubPostInstall, preRemove: hubPreRemove, postRemove: hubPostRemove}
}

// programs are those that there are of it for a machine: the shim and the hub are of Linux.
func (p product) programs(client bool) []string {
	switch {
	case p.name == hubName && client:
		return nil
	case p.name == hubName:
		return []string{hubName}
	case client:
		return []string{"custos", "custos-hook"}
	}
	return release.Programs()
}
