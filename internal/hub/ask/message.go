package ask

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// version is that of the form of messages.
const version = 1

const (
	mostHead = 64 << 10  // bytes of the first line of a message
	mostPath = 16 << 10  // bytes of path and query
	mostBody = 1 << 20   // bytes of the body of a question
	mostData = 256 << 10 // bytes of an answer in one part that are read
	// usualData is how many are written: what else goes over the connection waits for one part.
	usualData = 64 << 10
	mostUpTo  = 1 << 40 // the number of a part
)

// The kinds of call.
const (
	kindAsk    = "ask"
	kindGo     = "go"
	kindCancel = "cancel"
)

// call is what the asking side sends.
type call struct {
	V    int    `json:"v"`
	Kind string `json:"kind"`
	ID   string `json:"id"` // of the question, random
	// Until allows the parts below this number.
	Until int64 `json:"until,omitempty"`
	// The rest is of a question.
	Method string      `json:"method,omitempty"`
	Path   string      `json:"path,omitempty"` // with the query, as in a request
	Header http.Header `json:"header,omitempty"`
	Inbox  string      `json:"inbox,omitempty"` // what its reply subjects begin with: what is signed says where the answer may go
	Body   []byte      `json:"-"`
}

// part is what the answering side sends.
type part struct {
	V      int         `json:"v"`
	N      int64       `json:"n"`                // its number; of what is no part, that of the next one
	Status int         `json:"status,omitempty"` // of part 0
	Header http.Header `json:"header,omitempty"` // of part 0
	End    bool        `json:"end,omitempty"`    // the last part
	Alive  bool        `json:"alive,omitempty"`  // no part: the next one comes later
	Fail   string      `json:"fail,omitempty"`   // no part: why no other comes
	Data   []byte      `json:"-"`
}

func (c call) encode() ([]byte, error) {
	c.V = version
	return encode(c, c.Body)
}

func (p part) encode() ([]byte, error) {
	p.V = version
	return encode(p, p.Data)
}

func encode(head any, rest []byte) ([]byte, error) {
	line, err := json.Marshal(head)
	if err == nil && len(line) > mostHead {
		err = fmt.Errorf("its head has %d bytes, %d at most", len(line), mostHead)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot write a message: %w", err)
	}
	out := make([]byte, 0, len(line)+1+len(rest))
	return append(append(append(out, line...), '\n'), rest...), nil
}

// decode reads the first line of a message, and returns what comes after it.
func decode(data []byte, head any) (rest []byte, err error) {
	end := bytes.IndexByte(data[:min(len(data), mostHead+1)], '\n')
	if end < 0 {
		return nil, errors.New("it has no head")
	}
	var v struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(data[:end], &v); err != nil {
		return nil, errors.New("its head is no JSON")
	}
	if v.V < 1 || v.V < version-1 || v.V > version+1 {
		return nil, fmt.Errorf("its version is %d, and here versions %d to %d are read", v.V, max(1, version-1), version+1)
	}
	if err := json.Unmarshal(data[:end], head); err != nil {
		return nil, errors.New("its head is none of this version")
	}
	return data[end+1:], nil
}

// readCall reads a call, and refuses one that no asker of this version writes.
func readCall(data []byte) (c call, err error) {
	c.Body, err = decode(data, &c)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return call{}, fmt.Errorf("cannot read a call: %w", err)
	}
	return c, nil
}

var (
	callID = regexp.MustCompile(`^[A-Za-z0-9]{16,64}$`)
	method = regexp.MustCompile(`^[A-Z]{1,16}$`)
)

func (c call) check() error {
	switch {
	case !callID.MatchString(c.ID):
		return errors.New("it names no question")
	case c.Kind == kindAsk:
		return c.checkQuestion()
	case c.Kind != kindGo && c.Kind != kindCancel:
		return errors.New("its kind is none")
	case c.Until < 0 || c.Until > mostUpTo:
		return errors.New("it allows no number of parts")
	}
	return nil
}

func (c call) checkQuestion() error {
	u, err := url.ParseRequestURI(c.Path)
	switch {
	case c.Until < 1 || c.Until > mostUpTo:
		return errors.New("it allows no part of an answer")
	case !method.MatchString(c.Method):
		return errors.New("its method is none")
	case err != nil || !strings.HasPrefix(c.Path, "/") || u.Host != "" || len(c.Path) > mostPath:
		return errors.New("its path is none")
	case len(c.Body) > mostBody:
		return fmt.Errorf("its body has %d bytes, %d at most", len(c.Body), mostBody)
	}
	return checkHeader(c.Header)
}

// readPart reads a part, and refuses one that no answering side of this version writes.
func readPart(data []byte) (p part, err error) {
	p.Data, err = decode(data, &p)
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return part{}, fmt.Errorf("cannot read a part: %w", err)
	}
	return p, nil
}

func (p part) check() error {
	isPart := !p.Alive && p.Fail == ""
	switch {
	case p.N < 0 || p.N > mostUpTo:
		return errors.New("it has no number")
	case isPart && p.N == 0 && (p.Status < 200 || p.Status > 999):
		return errors.New("it has no status")
	case p.N > 0 && (p.Status != 0 || len(p.Header) > 0):
		return errors.New("it is a second head")
	case len(p.Data) > mostData:
		return fmt.Errorf("it has %d bytes, %d at most", len(p.Data), mostData)
	}
	return checkHeader(p.Header)
}
