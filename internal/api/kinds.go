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
	Never    []string `json:"never"` // what it never tells
}
