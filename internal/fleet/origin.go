package fleet

// Origin is what the system that started an agent has of it, in its own store or
// by the places it uses, and how configuration says that such an agent is started.
type Origin struct {
	System   string `json:"system"` // legio, overstory, or that of a place
	Name     string `json:"name"`   // what that system calls it
	Role     string `json:"role"`
	Project  string `json:"project,omitempty"`
	Parent   string `json:"parent,omitempty"` // as that system calls it, or Overseer
	Task     string `json:"task,omitempty"`
	Worktree string `json:"worktree,omitempty"`
	// Over is why, by its own system, its work is over; "" while that is not known.
	Over string `json:"over,omitempty"`
	// Checkpoint is what it wrote down of its work; nil for nothing.
	Checkpoint *Checkpoint `json:"checkpoint,omitempty"`

	// How agents of its role are started; Start is empty where configuration does not say.
	Start    []string `json:"start,omitempty"`
	Set      []string `json:"set,omitempty"` // variables given to it, NAME=value
	Env      []string `json:"env,omitempty"` // names of variables passed on
	Restart  Restart  `json:"restart,omitempty"`
	Standing bool     `json:"standing,omitempty"`
	Account  string   `json:"account,omitempty"`
}
