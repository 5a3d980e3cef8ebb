package conversation

import (
	"cmp"
	"errors"
	"fmt"
	json "github.com/go-json-experiment/json/v1"
	"strconv"
	"time"

	"custos/internal/fleet"
)

// openCodeRecord is a row of opencode's database, as internal/sys/opencode reads it: a
// part of a message, or a message that failed. Rows seen with 1.18.33.
type openCodeRecord struct {
	ID       string         `json:"id"` // of the part; empty of a message
	Session  string         `json:"session"`
	Parent   string         `json:"parent"` // session that began this one for a sub-agent
	CWD      string         `json:"directory"`
	Version  string         `json:"version"`
	Began    float64        `json:"began"` // session, in milliseconds; as are the others
	Created  float64        `json:"created"`
	Updated  float64        `json:"updated"`
	Role     string         `json:"role"`
	Model    string         `json:"model"`
	Summary  bool           `json:"summary"` // it is the summary of a compaction
	Part     openCodeRow    `json:"part"`
	Error    *openCodeError `json:"error"`
	Complete float64        `json:"completed"`
}

type openCodeRow struct {
	Type      string `json:"type"`
	Text      string `json:"text"`
	Synthetic bool   `json:"synthetic"`
	Tool      string `json:"tool"`
	CallID    string `json:"callID"`
	State     struct {
		Status string          `json:"status"`
		Input  json.RawMessage `json:"input"`
		Time   struct {
			Start float64 `json:"start"`
			End   float64 `json:"end"`
		} `json:"time"`
	} `json:"state"`
	Reason string         `json:"reason"`
	Cost   *float64       `json:"cost"`
	Tokens openCodeTokens `json:"tokens"`
}

// openCodeTokens are those of a step. Thoughts are beside the output.
type openCodeTokens struct {
	Input     *float64 `json:"input"`
	Output    *float64 `json:"output"`
	Reasoning *float64 `json:"reasoning"`
	Cache     struct {
		Read  *float64 `json:"read"`
		Write *float64 `json:"write"`
	} `json:"cache"`
}

func (u openCodeTokens) tokens() (fleet.Tokens, error) {
	n, err := tokensOf(u.Input, u.Output, u.Reasoning, u.Cache.Read, u.Cache.Write)
	if err != nil {
		return fleet.Tokens{}, err
	}
	return fleet.Tokens{Input: n[0], Output: n[1] + n[2], Reasoning: n[2], CacheRead: n[3], CacheWrite5m: n[4]}, nil
}

type openCodeError struct {
	Name string `json:"name"`
	Data struct {
		Message string `json:"message"`
		Status  anyInt `json:"statusCode"`
		Headers struct {
			After string `json:"retry-after"`
		} `json:"responseHeaders"`
	} `json:"data"`
}

// openCodeTranscript reads a record of opencode.
func openCodeTranscript(line []byte) ([]Entry, error) {
	var r openCodeRecord
	if err := readLoosely(line, &r); err != nil {
		return nil, err
	}
	if r.Session == "" {
		return nil, errors.New("it is of no session")
	}
	e := newEntry("")
	e.At, e.Session, e.CWD, e.Version, e.Side = milliseconds(r.Updated), shortID(r.Session), fleet.Path(clipped(r.CWD)), fleet.Line(clipped(r.Version), 40), r.Parent != ""
	if r.Error != nil {
		e.At = milliseconds(cmp.Or(r.Complete, r.Updated))
		return []Entry{r.Error.entry(e)}, nil
	}
	switch r.Part.Type {
	case "text":
		if r.Role == "user" && !r.Part.Synthetic && r.Part.Text != "" {
			e.At = milliseconds(r.Created)
			return []Entry{e.prompted(r.Part.Text)}, nil
		}
	case "tool":
		return r.Part.entries(e), nil
	case "compaction":
		return []Entry{e.as(Compact)}, nil
	case "step-finish":
		return r.answered(e)
	}
	return nil, nil
}

func milliseconds(n float64) time.Time {
	if n < 1e12 || n > 1e14 {
		return time.Time{}
	}
	return time.UnixMilli(int64(n)).UTC()
}

// entries: the row of a call is changed when it begins, and when it has ended.
func (p openCodeRow) entries(e Entry) []Entry {
	begin := e.as(ToolBegin)
	begin.Tool, begin.CallID, begin.input = shortID(p.Tool), shortID(p.CallID), p.State.Input
	if at := milliseconds(p.State.Time.Start); !at.IsZero() {
		begin.At = at
	}
	if p.State.Status != "completed" && p.State.Status != "error" {
		return []Entry{begin}
	}
	end := e.as(ToolEnd)
	if end.CallID = begin.CallID; p.State.Status == "error" {
		end.Text = "failed"
	}
	if at := milliseconds(p.State.Time.End); !at.IsZero() {
		end.At = at
	}
	return []Entry{begin, end}
}

// answered reads a step, which is one answer of the model. A conversation that was forked
// begins with copies of the first one's answers under new names: they are older than it,
// and count there.
func (r openCodeRecord) answered(e Entry) (out []Entry, err error) {
	tokens, err := r.Part.Tokens.tokens()
	if err != nil {
		return nil, fmt.Errorf("its usage: %w", err)
	}
	if tokens.All() > 0 && r.Created >= r.Began {
		a := e.as(Response)
		a.Key, a.Model, a.Tokens, a.Cost = "opencode:"+shortID(r.ID), fleet.Line(clipped(r.Model), 100), tokens, micros(r.Part.Cost)
		if !r.Summary {
			a.Used = fleet.Known(tokens.Read())
		}
		out = append(out, a)
	}
	if r.Part.Reason != "tool-calls" && !r.Summary {
		out = append(out, e.as(Stop))
	}
	return out, nil
}

// entry is how a turn ended that an error ended, or a person.
func (f openCodeError) entry(e Entry) Entry {
	if f.Name == "MessageAbortedError" {
		e = e.as(Stop)
		e.Text = "interrupted"
		return e
	}
	name := FailureOf(f.Data.Status.int(), f.Name+" "+f.Data.Message)
	if f.Name == "ContextOverflowError" {
		name = "context"
	}
	e = e.failed(name, f.Data.Message, f.Data.Status.int())
	if n, err := strconv.Atoi(f.Data.Headers.After); err == nil && n > 0 && n < 1e6 && e.Failure.Until.IsZero() && !e.At.IsZero() {
		e.Failure.Until = e.At.Add(time.Duration(n) * time.Second)
	}
	if e.Failure.Until.Sub(e.At) < triesAgain {
		e.Failure.Until = time.Time{}
	}
	return e
}

// triesAgain is how long opencode waits for a limit by itself before it writes an error
// down, about: what is told to be over sooner was tried in vain, and tells of no reset.
const triesAgain = time.Minute
