package fleet

// Team is the order in which roles bring a piece of work to its end, as custos.toml says: the
// section [team.NAME].
type Team struct {
	Name  string   `json:"name"`
	What  string   `json:"what,omitempty"` // one line for people
	Roles []string `json:"roles"`          // each but the last has one part of the work, one after another; the last does the work, or each of its other parts
}
