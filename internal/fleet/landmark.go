package fleet

// Landmark is a folder, file or socket of Custos itself, a file that custos.toml
// names for a token, or the settings of an agent CLI with hooks of ours in them.
type Landmark struct {
	Path  string       `json:"path" help:"where it is"`
	What  string       `json:"what" help:"what it is for: state, run, ledger, …, [notifier.ops], hooks of claude"`
	Is    string       `json:"is" help:"dir, file or socket"`
	Owner Owner        `json:"owner" help:"custos, or foreign when it belongs to another user"`
	File  FileID       `json:"file" help:"its identity"`
	Mode  uint64       `json:"mode" help:"its permission bits"`
	Open  Leaf[bool]   `json:"open" help:"whether others may change it, or read what is not theirs to read"`
	Kind  string       `json:"kind,omitempty" help:"of agent, where it is settings"`
	Hooks Leaf[string] `json:"hooks" help:"what is wrong with our hooks in it; empty when nothing is"`
}

// Shut is the mode that lets only its owner at a landmark.
func (l Landmark) Shut() uint64 {
	if l.Is == "dir" {
		return 0o700
	}
	return 0o600
}
