// Package judge asks a model one question and returns what it said: tier 1.
//
// A question is instructions, data and the JSON schema of the answer; the answer
// is text that is not checked, with what it took in tokens, money and time.
// It may be answered by an Anthropic or OpenAI compatible endpoint, by an agent
// CLI without a terminal, or, which is the default, by none. Whether to ask,
// how often and at what price is for the caller to decide: Client keeps no
// budget, and repeats a question once, only where the server said that it was not
// even looked at (429, 5xx).
//
// What a model says is never trusted and never reaches a shell. ParseVerdict
// makes one of six words of it; whatever is none of them asks a person.
package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Why there is no answer.
var (
	// ErrNone says that no judge is configured, which is how Custos comes.
	ErrNone = errors.New("no judge is configured")
	// ErrCut says that the answer ended at the most tokens it may have.
	ErrCut = errors.New("the answer was cut at its most tokens")
	// ErrDeclined says that the model, or its provider, would not answer.
	ErrDeclined = errors.New("the model declined to answer")
	// ErrNoAnswer says that the reply holds no answer, or more than one.
	ErrNoAnswer = errors.New("the reply holds no one answer")
	// ErrTooMuch says that the reply was longer than MaxReply.
	ErrTooMuch = fmt.Errorf("the reply is longer than %d bytes", MaxReply)
	// ErrRedirect says that the server wanted the question to go elsewhere.
	ErrRedirect = errors.New("refused to be sent elsewhere by the server")
)

// What a question and its reply may hold, in bytes. An evidence bundle has some
// 20 KiB, a verdict less than one.
const (
	MaxReply = 1 << 20
	MaxData  = 1 << 20
)

// What holds when a Question does not say.
const (
	defaultTokens   = 1024
	defaultDeadline = 2 * time.Minute
)

// Question is one question.
type Question struct {
	System    string          // what the model is to do
	Data      string          // what it is to judge: shown to it as data, between marks that the data cannot forge
	Schema    json.RawMessage // JSON schema of the answer, an object
	MaxTokens int             // most tokens of the answer; 0 is 1024. A CLI has its own.
	Deadline  time.Duration   // for everything, a repetition included; 0 is two minutes
}

// Answer is what came of a question. With an error, it still has what is known
// of the calls that were made: they may have to be paid.
type Answer struct {
	Text  string // as the model gave it: meant to be JSON, and not checked
	Model string // that says it answered; as configured, when the reply does not say
	Usage Usage
	Cost  Cost
	Calls int           // requests sent, or programs started
	Took  time.Duration // all in all
}

// Usage is in tokens, as the reply tells them; Input counts cached ones too.
type Usage struct {
	Known         bool
	Input, Output int64
}

// Cost is in millionths of a dollar: what a CLI says it cost, else the tokens at
// the configured prices, rounded up; unknown without either.
type Cost struct {
	Known  bool
	Micros int64
}

// Client asks one judge. It may be used side by side.
type Client struct {
	kind   string
	via    asker
	prices prices
}

// asker is one way to ask. It fills Text, Model, Usage, Calls, and Cost when it
// was told.
type asker interface {
	ask(context.Context, Question) (Answer, error)
}

// Kind is what answers: none, anthropic, openai or command.
func (c *Client) Kind() string { return c.kind }

// Ask asks the question once. The error wraps one of this package's, a
// *StatusError, or the context's; context.DeadlineExceeded when the question's
// own deadline passed. No error has a key in its text.
func (c *Client) Ask(ctx context.Context, q Question) (Answer, error) {
	q, err := q.complete()
	if err != nil {
		return Answer{}, fmt.Errorf("cannot ask the judge: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, q.Deadline)
	defer cancel()
	began := time.Now()
	a, err := c.via.ask(ctx, q)
	a.Took = time.Since(began)
	if !a.Cost.Known {
		a.Cost = c.prices.of(a.Usage)
	}
	if err != nil {
		a.Text = ""
		return a, fmt.Errorf("cannot ask the judge (%s): %w", c.kind, err)
	}
	return a, nil
}

func (q Question) complete() (Question, error) {
	if q.MaxTokens == 0 {
		q.MaxTokens = defaultTokens
	}
	if q.Deadline == 0 {
		q.Deadline = defaultDeadline
	}
	switch {
	case len(q.Data) > MaxData:
		return q, fmt.Errorf("the question has %d bytes of data, %d are the most", len(q.Data), MaxData)
	case q.MaxTokens < 0 || q.Deadline < 0:
		return q, errors.New("a question has no negative limits")
	case !bytes.HasPrefix(bytes.TrimSpace(q.Schema), []byte("{")) || !json.Valid(q.Schema):
		return q, errors.New("the schema of the answer is no JSON object")
	}
	return q, nil
}

// none answers nothing.
type none struct{}

func (none) ask(context.Context, Question) (Answer, error) { return Answer{}, ErrNone }
