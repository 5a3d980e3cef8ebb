package api

// Simulation is what the stories of a file come to.
type Simulation struct {
	File    string            `json:"file"`
	Stories []SimulatedStory  `json:"stories"`
	Wants   int               `json:"wants"` // lines that want something
	Missed  []SimulatedMissed `json:"missed"`
}

// SimulatedStory is one story, moment by moment.
type SimulatedStory struct {
	Name    string            `json:"name"`
	Moments []SimulatedMoment `json:"moments"`
}

// SimulatedMoment is what is thought and planned at one moment.
type SimulatedMoment struct {
	Line       int              `json:"line"`  // of the file
	After      string           `json:"after"` // since the start
	Agents     []SimulatedAgent `json:"agents"`
	Alerts     []Alert          `json:"alerts"`  // those that are over in this moment, too
	Actions    []SimulatedDeed  `json:"actions"` // each is taken to be done well before the next moment
	Skipped    []Refusal        `json:"skipped"`
	Moves      []Move           `json:"moves"`
	Held       []HeldMove       `json:"held"`
	CannotTell []Doubt          `json:"cannot_tell"`
}

// SimulatedAgent is an agent as it is seen.
type SimulatedAgent struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	Source string `json:"source,omitempty"`
}

// SimulatedDeed is an action that would be begun.
type SimulatedDeed struct {
	Do      string `json:"do"`
	Subject string `json:"subject"`
	Rule    string `json:"rule,omitempty"`
	Why     string `json:"why,omitempty"`
}

// SimulatedMissed is a want that is not met.
type SimulatedMissed struct {
	Story string `json:"story"`
	Line  int    `json:"line"`
	Want  string `json:"want"`
	Says  string `json:"says"` // what is so instead
}
