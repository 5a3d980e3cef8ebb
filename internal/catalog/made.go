package catalog

import (
	"regexp"

	"custos/internal/act/agentrun"
	"custos/internal/fleet"
	"custos/internal/sys/files"
	"custos/internal/sys/shim"
)

// What Custos makes in the state folder and in the run folder, by name: this, and nothing
// else, goes when it is uninstalled. The journal is not in it: that is the user's.
// TestUninstallKnowsAllThatCustosMakes holds it against what daemons leave behind.

const (
	instanceName = `[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}` // as shim.IsKey has it
	aNumber      = `[0-9]+`
	agentMark    = "generation" // as store.AgentMark
)

// ToolMark begins the second line of each tool of formulas that Custos makes, and ever made.
const ToolMark = "# Written by custos "

func fileMade(name string, begins ...string) files.Made {
	return files.Made{Name: name, Kind: files.IsFile, Begins: begins}
}

func folderMade(name string, in func() []files.Made) files.Made {
	return files.Made{Name: name, Kind: files.IsFolder, In: in}
}

// lockMade is the file of onewriter.Take: it is empty until it says who holds it.
func lockMade() files.Made { return fileMade("lock", "custos ", "") }

// StateMade is what is made in the state folder.
func StateMade() []files.Made {
	return []files.Made{
		lockMade(),
		fileMade(`custos\.db(\.(corrupt|replaced|newer)-[0-9]{8}T[0-9]{6}Z(-` + aNumber + `)?)?(-wal|-shm|-journal)?`),
		fileMade(`\.custos\.db-` + aNumber),
		fileMade(`generation|\.generation-`+aNumber, "custos", ""),
		fileMade("frozen"),
		fileMade(`custos\.db\.restoring`),
		fileMade("upgrade\\.(json|lock|log)"),
		folderMade("backups", func() []files.Made {
			return []files.Made{fileMade(`(\.new-)?custos-v[0-9]+-[0-9]{8}T[0-9]{6}\.[0-9]{3}Z\.db(-wal|-shm|-journal)?`), newMade()}
		}),
		folderMade("bin", toolsMade),
		folderMade("disabled", func() []files.Made { return []files.Made{fileMade(".+", "disabled by ")} }),
		folderMade("forge", func() []files.Made { return []files.Made{fileMade(`.+\.json`, `{"format":`), newMade()} }),
		folderMade("replies", func() []files.Made {
			return []files.Made{fileMade(`.+` + regexp.QuoteMeta(fleet.ReplyFile("")) + `\.` + aNumber + `\.(taken|done)`), fileMade(`\.reply-` + aNumber)}
		}),
		folderMade("runs", func() []files.Made { return []files.Made{folderMade(instanceName, runMade)} }),
		folderMade("trusted", func() []files.Made { return []files.Made{folderMade(`[0-9a-f]{24}`, trustedMade)} }),
	}
}

// newMade is a file that was to get another name when it was whole.
func newMade() files.Made { return fileMade(`\.new-` + aNumber) }

func toolsMade() []files.Made {
	tools := []files.Made{fileMade(`[A-Za-z0-9._-]+`, "#!/bin/sh\n"+ToolMark)}
	return append(tools, folderMade(fleet.TownTools, func() []files.Made { return tools }))
}

// trustedMade is a copy of what is trusted of a tree: only what is written so that nobody
// writes to it by mistake.
func trustedMade() []files.Made {
	return []files.Made{{Name: `.+`, Kind: files.IsFile, Modes: []uint32{0o400, 0o500}}, newMade(), folderMade(`.+`, trustedMade)}
}

// runMade is what is made in the folder of a run of a formula.
func runMade() []files.Made {
	step := func() []files.Made {
		return append(instanceMade(), fileMade(`script\.sh(\.tmp)?|`+fleet.RunNotStarted))
	}
	return []files.Made{
		fileMade(`phase|scratch\.md|prompt\.md|compact\.md|prepared|lock(\.new)?`), newMade(),
		folderMade(fleet.RunStepsFolder, func() []files.Made { return []files.Made{folderMade(instanceName, step)} }),
	}
}

// instanceMade is what is made in the folder of an instance of an agent.
func instanceMade() []files.Made {
	return []files.Made{
		fileMade(shim.FileNames()), fileMade(agentMark, "custos", ""), fileMade(regexp.QuoteMeta(agentrun.ContextFile)),
		{Name: "stdin", Kind: files.IsPipe},
	}
}

// InstancesMade is what is made in the folder of all instances.
func InstancesMade() []files.Made {
	return []files.Made{folderMade(instanceName, instanceMade), fileMade(`\.` + instanceName + `\.spawn(\.tmp)?`), newMade()}
}

// RunFolderMade is what is made in the run folder; without the socket of a tmux server that
// runs on.
func RunFolderMade(server bool) []files.Made {
	made := []files.Made{
		lockMade(),
		{Name: `custos\.sock|hook\.sock`, Kind: files.IsSocket},
		folderMade("agents", InstancesMade), folderMade("removed", InstancesMade),
		folderMade("hooks", func() []files.Made {
			return []files.Made{fileMade(`(claude|codex|gemini|opencode)\.json|custos-opencode\.js|\.payload-.+`), newMade()}
		}),
		folderMade("spool", func() []files.Made {
			return []files.Made{fileMade(`[0-9]{20}-[^/]+\.json(\.bad)?|\.tmp-.+|dropped|\.dropped-told`)}
		}),
	}
	if server {
		return made
	}
	return append(made, files.Made{Name: regexp.QuoteMeta(ownSocketName), Kind: files.IsSocket})
}
