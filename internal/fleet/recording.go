package fleet

// RecordingVersion is the version of the recording format.
const RecordingVersion = 1

// Recording is everything a plan follows from. The same recording gives the
// same plan, byte for byte, anywhere.
type Recording struct {
	Version  int      `json:"version"`
	Custos   string   `json:"custos"` // version of the program
	Snapshot Snapshot `json:"snapshot"`
	Past     Past     `json:"past"`
	Policy   Policy   `json:"policy"`
	Rules    string   `json:"rules"` // the rule table in force, TOML
}
