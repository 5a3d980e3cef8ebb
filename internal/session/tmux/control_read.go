package tmux

import (
	"strconv"
	"strings"
)

// What a line in control mode comes to.
type turnKind int

const (
	nothing      turnKind = iota // more is to come, or it belongs to none
	notification                 // something happened
	answered                     // what was asked was answered
	failed                       // a command was refused
)

// said is one thing that a server in control mode has said.
type said struct {
	kind turnKind
	body []string // of an answer or a refusal
}

// reading puts lines in control mode together. Answers come between "%begin TIME
// NUMBER FLAGS" and "%end" or "%error" with the same three.
type reading struct {
	block string // TIME NUMBER FLAGS of the answer that is being read; "" for none
	body  []string
}

// take takes one line without its end.
func (r *reading) take(line string) said {
	word, rest, _ := strings.Cut(line, " ")
	switch {
	case r.block == "" && word == "%begin":
		r.block, r.body = rest, nil
	case r.block == "" && strings.HasPrefix(word, "%"):
		return said{kind: notification}
	case r.block == "":
	case rest == r.block && (word == "%end" || word == "%error"):
		return r.end(word == "%error")
	case len(r.body) < bodyMax:
		r.body = append(r.body, line)
	}
	return said{}
}

// bodyMax is how many lines of an answer are kept.
const bodyMax = 10_000

// end ends an answer. Those to the command that the client began with are not
// asked for by anybody; a refusal always counts.
func (r *reading) end(refused bool) said {
	body, own := r.body, isOwn(r.block)
	r.block, r.body = "", nil
	switch {
	case refused:
		return said{kind: failed, body: body}
	case own:
		return said{kind: answered, body: body}
	}
	return said{}
}

// isOwn says whether an answer is to what was written to the client: its flags
// are odd.
func isOwn(block string) bool {
	flags, err := strconv.ParseUint(block[strings.LastIndexByte(block, ' ')+1:], 10, 32)
	return err == nil && flags&1 == 1
}
