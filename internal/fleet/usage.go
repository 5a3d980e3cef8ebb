package fleet

import "time"

// Tokens are what responses of a model used. A token counts in one of the first
// five; those of Reasoning are in Output too. CLIs count otherwise (some put what came
// from the cache into the input): who reads them tells them apart.
type Tokens struct {
	Input        int64 `json:"input"`                    // read by the model, neither from its cache nor into it
	CacheRead    int64 `json:"cache_read,omitempty"`     // read from its cache
	CacheWrite5m int64 `json:"cache_write_5m,omitempty"` // read, and kept in its cache for five minutes, or for as long as is not told
	CacheWrite1h int64 `json:"cache_write_1h,omitempty"` // read, and kept in its cache for an hour
	Output       int64 `json:"output"`                   // written, thoughts included
	Reasoning    int64 `json:"reasoning,omitempty"`      // of the output: thoughts, as far as that is told
}

// Read is how many tokens the model was given: what fills its context, without the answer.
func (t Tokens) Read() int64 { return t.Input + t.CacheRead + t.CacheWrite5m + t.CacheWrite1h }

// All are all tokens, those from the cache included.
func (t Tokens) All() int64 { return t.Read() + t.Output }

// Work are the tokens without those from the cache, which are most of all and cost least.
func (t Tokens) Work() int64 { return t.All() - t.CacheRead }

// Add returns the sum of both.
func (t Tokens) Add(u Tokens) Tokens {
	return Tokens{Input: t.Input + u.Input, CacheRead: t.CacheRead + u.CacheRead, CacheWrite5m: t.CacheWrite5m + u.CacheWrite5m,
		CacheWrite1h: t.CacheWrite1h + u.CacheWrite1h, Output: t.Output + u.Output, Reasoning: t.Reasoning + u.Reasoning}
}

// Pricing says where a price is from.
type Pricing string

// Where a price can be from. What has none is unpriced: it costs something, and
// it is not known how much.
const (
	PricedByCLI   Pricing = "told"     // the CLI said what it cost
	PricedByTable Pricing = "table"    // tokens times the price table
	Unpriced      Pricing = "unpriced" // no price of this model is known
)

// UsageSource says what a response was seen by.
type UsageSource string

// UsageTranscript is a file in which the CLI keeps a conversation, which is all that responses are counted by: what an
// agent prints of them, and what its hooks tell, is no response more.
const UsageTranscript UsageSource = "transcript"

// Usage is one response of a model to one agent: what it used, and what that cost.
// The same response may be seen often (in lines that repeat it, in a conversation
// that was copied): its key is the same then, and it counts once, with
// the most tokens that were told of it.
type Usage struct {
	Key      string      `json:"key"`     // KIND:ID, where ID is what the CLI or its model's server calls the response
	Kind     string      `json:"kind"`    // of the CLI
	Session  string      `json:"session"` // the CLI's own name of the conversation
	Model    string      `json:"model"`   // that answered; empty when that is not told
	At       time.Time   `json:"at"`      // when it was answered, as the CLI wrote it down; UTC
	Source   UsageSource `json:"source"`
	Side     bool        `json:"side,omitempty"` // of a sub-agent, in a context of its own
	Tokens   Tokens      `json:"tokens"`
	Pricing  Pricing     `json:"pricing"`
	MicroUSD int64       `json:"micro_usd,omitempty"` // millionths of a dollar; 0 of what is unpriced
	Table    string      `json:"table,omitempty"`     // the date of the price table that priced it

	// Whose it is: of who held the conversation at that moment, where that is known.
	Agent    string `json:"agent,omitempty"`
	Instance string `json:"instance,omitempty"`
	Role     string `json:"role,omitempty"`
	Project  string `json:"project,omitempty"`
	Account  string `json:"account,omitempty"`
	Run      string `json:"run,omitempty"`
	Work     string `json:"work,omitempty"`
	CWD      string `json:"cwd,omitempty"`
}

// Holding is who held a conversation, and from when until when: whose its responses are says who held it when
// they were made.
type Holding struct {
	Whose Usage     // its Kind and Session, whose it is, and At, since when
	Until time.Time // zero: still
}

// UsageFault is something that was told of responses, and cannot be or could not be read: what they
// used counts in part, or not at all.
type UsageFault struct {
	Kind string    `json:"kind"` // of the CLI
	Why  string    `json:"why"`
	At   time.Time `json:"at"`  // when it was met last
	Key  string    `json:"key"` // of the newest such response, or the file
	// More are those before it, the newest first; of the oldest of very many nothing is kept.
	More []string `json:"more,omitempty"`
	// AtLeast says that as many are kept as are ever kept of one fault: there may have been more.
	AtLeast bool `json:"at_least,omitempty"`
}

// UsageCursor is how far a file was read. A file is what device and inode say: under the
// same path another one may stand.
type UsageCursor struct {
	Path   string `json:"path"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Offset int64  `json:"offset"` // of the first byte that was not read: behind a line's end
}
