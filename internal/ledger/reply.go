package ledger

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"custos/internal/fleet"
)

// Verb is what a reply asks for. There are no others.
type Verb string

// The verbs.
const (
	ReplyStatus  Verb = "status"
	ReplyStuck   Verb = "stuck"
	ReplyAck     Verb = "ack"
	ReplyIgnore  Verb = "ignore"
	ReplyApprove Verb = "approve"
	ReplyDeny    Verb = "deny"
	ReplyStop    Verb = "stop"
	ReplyFreeze  Verb = "freeze"
	ReplyThaw    Verb = "thaw"
	ReplyHelp    Verb = "help"
)

// Reply is what a person asks for in the closed vocabulary.
type Reply struct {
	Verb   Verb
	Number int64          // of the alert; 0: not by number
	Name   string         // of what it is about; "" with Number 0: what was told in the message it answers
	For    fleet.Duration // of an ignore; 0: one patrol
}

// String is the reply as it is repeated in the answer.
func (r Reply) String() string {
	out := string(r.Verb)
	if r.Number > 0 {
		out += " " + strconv.FormatInt(r.Number, 10)
	}
	if r.Name != "" {
		out += " " + fleet.Line(r.Name, 80)
	}
	if r.For > 0 {
		out += " " + r.For.Short()
	}
	return out
}

// What a reply may be at most.
const (
	longestReply  = 4096               // bytes; what is longer is no reply
	longestIgnore = 7 * 24 * time.Hour // what is to be quiet for longer takes a keyboard
	replyTooOld   = time.Hour          // what was said so long ago was said of something else
)

// Heeded says whether what was said is for Custos to read at all: said by one of
// its people, in its room, once, as text. Whatever else is said gets no answer.
func Heeded(p fleet.Place, s fleet.Said) bool {
	switch {
	case s.Own || s.Edit || s.ID == "" || s.By == "" || s.Room != p.Room:
		return false
	case len(s.Text) > longestReply || !utf8.ValidString(s.Text) || strings.ContainsFunc(s.Text, hiddenRune):
		return false
	}
	for _, one := range p.People {
		if one == s.By {
			return true
		}
	}
	return false
}

// hiddenRune are characters that do not show, or make others show otherwise.
func hiddenRune(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cf, r)
}

// Stale says whether something was said too long ago to be acted on.
func Stale(s fleet.Said) bool { return time.Duration(s.Age) > replyTooOld }

// ParseReply reads a reply. What is not in the vocabulary, to the letter, is none.
func ParseReply(text string) (Reply, bool) {
	words := strings.Fields(text)
	if len(words) > 1 && strings.EqualFold(strings.Trim(words[0], "@:,"), "custos") {
		words = words[1:]
	}
	if len(words) == 0 || strings.Contains(strings.TrimSpace(text), "\n") {
		return Reply{}, false
	}
	verb, rest := Verb(strings.ToLower(words[0])), words[1:]
	if alone, ok := askedAlone(words); ok {
		return Reply{Verb: alone}, true
	}
	switch verb {
	case ReplyAck:
		return aboutReply(verb, rest, 0)
	case ReplyIgnore:
		rest, d, ok := ignoreFor(rest)
		if !ok {
			return Reply{}, false
		}
		return aboutReply(verb, rest, d)
	case ReplyApprove, ReplyDeny:
		r, ok := aboutReply(verb, rest, 0)
		return r, ok && r.Name == ""
	case ReplyStop:
		r, ok := aboutReply(verb, rest, 0)
		return r, ok && len(rest) == 1
	}
	return Reply{}, false
}

// askedAlone reads what is said about nothing in particular.
func askedAlone(words []string) (Verb, bool) {
	text := strings.TrimRight(strings.ToLower(strings.Join(words, " ")), "?!. ")
	text = strings.ReplaceAll(text, "’", "'")
	switch text {
	case "":
		return ReplyHelp, strings.HasPrefix(words[0], "?")
	case "what's stuck", "whats stuck", "what is stuck":
		return ReplyStuck, true
	case string(ReplyStatus), string(ReplyStuck), string(ReplyHelp):
		return Verb(text), true
	}
	switch plain := Verb(strings.ToLower(words[0])); plain {
	case ReplyFreeze, ReplyThaw: // to the letter: "thaw?" is a question
		return plain, len(words) == 1
	}
	return "", false
}

// aboutReply reads what a reply is about: a number, "that" or nothing, or a name.
func aboutReply(verb Verb, rest []string, d fleet.Duration) (Reply, bool) {
	r := Reply{Verb: verb, For: d}
	name := strings.Join(rest, " ")
	if name == "" || strings.EqualFold(name, "that") || strings.EqualFold(name, "it") {
		return r, true
	}
	if n, ok := alertNumber(name); ok {
		r.Number = n
		return r, n > 0
	}
	if strings.HasPrefix(name, "#") || len(name) > 400 {
		return Reply{}, false
	}
	r.Name = name
	return r, true
}

func alertNumber(word string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimPrefix(word, "#"), 10, 64)
	return n, err == nil
}

var ignoreSpan = regexp.MustCompile(`^([0-9]{1,4})(m|min|h|d)$`)

// ignoreFor takes the time off the end of what is to be ignored: "X 2h", "X for 2h".
func ignoreFor(rest []string) ([]string, fleet.Duration, bool) {
	if len(rest) == 0 {
		return rest, 0, true
	}
	m := ignoreSpan.FindStringSubmatch(strings.ToLower(rest[len(rest)-1]))
	if m == nil {
		return rest, 0, true
	}
	unit := map[string]time.Duration{"m": time.Minute, "min": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[m[2]]
	n, _ := strconv.Atoi(m[1])
	d := time.Duration(n) * unit
	rest = rest[:len(rest)-1]
	if len(rest) > 0 && strings.EqualFold(rest[len(rest)-1], "for") {
		rest = rest[:len(rest)-1]
	}
	return rest, fleet.Duration(d), d > 0 && d <= longestIgnore
}

// Vocabulary is the answer to help, and to what is not understood.
func Vocabulary() string {
	return `status · stuck · ack N · ignore N|NAME [2h] · approve N · deny N · stop NAME · freeze · thaw · help
N is the number of an alert; in answer to a message of mine it may be left out. ignore without a time lasts one patrol.`
}
