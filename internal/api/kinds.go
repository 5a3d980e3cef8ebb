package api

// Kinds are the kinds of agent CLI that Custos knows.
type Kinds struct {
	Kinds []Kind   `json:"kinds"`
	Aside []string `json:"aside"` // files of kinds that are not used, and why
}

// Kind is one kind of agent CLI.
type Kind struct {
	Name     string   `json:"name"`
	From     []string `json:"from"`   // files that say something of it besides what is built in, the last over the others
	Proven   []string `json:"proven"` // versions on which its marks were found right
	Disabled bool     `json:"disabled,omitempty"`
	Path     string   `json:"path,omitempty"`     // of its CLI on PATH; empty where there is none
	Version  string   `json:"version,omitempty"`  // of that, as its package says; empty where that is not known: it is not run to ask
	Outgrown string   `json:"outgrown,omitempty"` // the newest of Proven, where Version is newer
	Never    []string `json:"never"`              // what it never tells
}
