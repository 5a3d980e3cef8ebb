package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"custos/internal/api"
)

// A list shows so many things, and of each mail so much.
const (
	longestList = 20
	longestBody = 2000 // bytes
)

type waiting struct {
	Title string `json:"title" jsonschema:"what you wait for"`
	For   string `json:"for,omitempty" jsonschema:"so long: 30m"`
	Of    string `json:"pr,omitempty" jsonschema:"a pull request to be merged: PROJECT!7"`
	Run   string `json:"ci,omitempty" jsonschema:"a pipeline to succeed: SYSTEM/PROJECT#12"`
	On    string `json:"event,omitempty" jsonschema:"work:REF:closed, run:FORMULA:done"`
}

// waitFor opens the gate that the fields name; with none of them it waits for a person.
func waitFor(ctx context.Context, c *api.Client, in waiting) (string, error) {
	kinds := [][2]string{{"timer", in.For}, {"gh:pr", in.Of}, {"gh:run", in.Run}, {"event", in.On}}
	r := api.GateRequest{Key: rand.Text(), Type: "human", Title: in.Title, For: in.For, Of: in.Of, Run: in.Run, On: in.On}
	given := 0
	for _, k := range kinds {
		if k[1] != "" {
			r.Type = k[0]
			given++
		}
	}
	if given > 1 {
		return "", errors.New("cannot wait for several things at once: give one of for, pr, ci and event, or none for a person's decision")
	}
	g, err := c.AddGate(ctx, r)
	return fmt.Sprintf("%s waits (%s). You get mail when it closes.", g.ID, g.Type), err
}

func inbox(ctx context.Context, c *api.Client, _ nothing) (string, error) {
	v, err := c.Mails(ctx, "", false)
	return listed(v.Mail, "No mail.", func(m api.Mail) string {
		head := fmt.Sprintf("%s from %s %s: %s", m.ID, m.From, strings.TrimSpace(m.Type+" "+m.Priority), m.Subject)
		if m.Body == "" {
			return head
		}
		return head + "\n" + cut(m.Body, longestBody)
	}), err
}

type letter struct {
	To      []string `json:"to,omitempty" jsonschema:"agents, parent, role/ROLE, or overseer for people"`
	Answers string   `json:"answers,omitempty" jsonschema:"ID of the mail this answers, instead of to"`
	Type    string   `json:"type,omitempty" jsonschema:"HELP, question, worker_done, …"`
	Subject string   `json:"subject"`
	Body    string   `json:"body,omitempty"`
	About   string   `json:"about,omitempty" jsonschema:"the work it is about"`
}

func sendMail(ctx context.Context, c *api.Client, in letter) (string, error) {
	m, err := c.SendMail(ctx, api.MailRequest{Key: rand.Text(), To: in.To, Answers: in.Answers, Type: in.Type, Subject: in.Subject, Body: in.Body, About: in.About})
	return fmt.Sprintf("%s to %s.", m.ID, strings.Join(m.To, ", ")), err
}

type oneMail struct {
	ID string `json:"id"`
}

func closeMail(ctx context.Context, c *api.Client, in oneMail) (string, error) {
	m, err := c.ChangeMail(ctx, in.ID, api.MailChange{Do: "archive"})
	return m.ID + " is put away.", err
}

type workQuery struct {
	Ready   bool   `json:"ready,omitempty" jsonschema:"only what may be taken now"`
	Project string `json:"project,omitempty"`
	Agent   string `json:"agent,omitempty" jsonschema:"only what this agent has"`
}

func listWork(ctx context.Context, c *api.Client, in workQuery) (string, error) {
	q := api.WorkQuery{Project: in.Project, Agent: in.Agent}
	if in.Ready {
		q.Which = "ready"
	}
	v, err := c.Work(ctx, q)
	return listed(v.Work, "No work.", func(w api.Work) string {
		line := fmt.Sprintf("%s %s %s: %s", w.Ref, w.Priority, w.State, w.Title)
		if w.Agent != "" {
			line += " (" + w.Agent + ")"
		}
		if len(w.BlockedBy) > 0 {
			line += "; waits for " + strings.Join(w.BlockedBy, ", ")
		}
		return line
	}), err
}

type workChange struct {
	Ref string `json:"ref"`
	Do  string `json:"do" jsonschema:"take, release, close or reopen"`
	Why string `json:"why,omitempty"`
}

func changeWork(ctx context.Context, c *api.Client, in workChange) (string, error) {
	w, err := c.ChangeWork(ctx, in.Ref, api.WorkChange{Do: in.Do, Why: in.Why})
	return fmt.Sprintf("%s is %s.", cmp.Or(w.Ref, in.Ref), w.State), err
}

func who(ctx context.Context, c *api.Client, _ nothing) (string, error) {
	v, err := c.Agents(ctx)
	return listed(v.Agents, "No agent is seen.", func(a api.AgentRow) string {
		line := fmt.Sprintf("%s (%s) %s", a.Name, a.Kind, strings.TrimSpace(a.State+" "+a.Since))
		for _, more := range []string{a.Role, a.Project, a.Task, a.CWD} {
			if more != "" {
				line += "; " + cut(more, 200)
			}
		}
		return line
	}), err
}

// listed is a list as text, a thing on each line.
func listed[T any](all []T, none string, line func(T) string) string {
	if len(all) == 0 {
		return none
	}
	var lines []string
	for _, one := range all[:min(len(all), longestList)] {
		lines = append(lines, line(one))
	}
	if more := len(all) - longestList; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// cut keeps the beginning of a text, whole runes of it.
func cut(text string, longest int) string {
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + " …"
}
