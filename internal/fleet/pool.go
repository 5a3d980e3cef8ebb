package fleet

// Pool is the section [pool.NAME]: standing workers of one role, as many as there
// is work for, between a least and a most.
type Pool struct {
	Name     string   `json:"name"`
	Role     string   `json:"role"`
	Project  string   `json:"project,omitempty"` // whose waiting work it is for; empty: Min is all there is
	Kind     string   `json:"kind"`
	Argv     []string `json:"argv,omitempty"`
	Env      []string `json:"env,omitempty"` // names of variables passed on
	Account  string   `json:"account,omitempty"`
	Accounts []string `json:"accounts,omitempty"` // or of several, in the order in which they are used: each new worker has one
	Prompt   string   `json:"prompt"`
	Typed    bool     `json:"typed,omitempty"` // its kind takes no prompt on the command line
	Where    Where    `json:"where"`
	Dir      string   `json:"dir,omitempty"`  // where its workers work
	Repo     string   `json:"repo,omitempty"` // or the repository that each has a worktree of
	Min      int      `json:"min"`
	Max      int      `json:"max"`
	Idle     Duration `json:"idle"` // after which a worker that is not needed is ended
	Disabled bool     `json:"disabled,omitempty"`
	Hosts    Hosts    `json:"hosts,omitempty"` // of several that have a pool of this name: which of them start workers
	// LostAfter is after how long of silence of a host, that was listened to, others start workers in the place of its own; 0: never.
	LostAfter Duration `json:"lost_after,omitempty"`
	// OnReturn is what becomes of those when that host is back, and there are more than Max.
	OnReturn OnReturn `json:"on_return,omitempty"`
}

// OnReturn is what becomes of workers that were started in the place of those of a lost host, when that is back.
type OnReturn string

// What becomes of them.
const (
	ReturnKeep    OnReturn = "keep"     // they end as others do: when they have had nothing to do for Idle
	ReturnStopNew OnReturn = "stop_new" // they end when they have nothing in hand
	ReturnAsk     OnReturn = "ask"      // a person ends those that are too many, or none
)
