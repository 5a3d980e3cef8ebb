package docgraph

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	reBlockedBy = regexp.MustCompile(`(?i)\b(?:blocked[ -]by|depends[ -]on|waits[ -]for)[:*_]*\s+((?:#\d{1,9}(?:\s*(?:,|and|&)\s*)?)+)`)
	reBlocks    = regexp.MustCompile(`(?i)\bblock(?:s|ing)[:*_]*\s+((?:#\d{1,9}(?:\s*(?:,|and|&)\s*)?)+)`)
	reNeeds     = regexp.MustCompile(`(?i)^(?:dependencies|depends on|blocked by|prerequisites)\b`)
	reKeyed     = regexp.MustCompile(`(?i)"issue(?:_number)?"\s*:\s*"?#?(\d{1,9})\b`)
)

func (r *reader) drawIssues(issues []Issue) error {
	issues = slices.SortedFunc(slices.Values(issues), func(a, b Issue) int { return cmp.Compare(a.Number, b.Number) })
	closed := map[int]bool{}
	for _, i := range issues {
		closed[i.Number] = i.Closed
		if n := r.node(Node{ID: issueID(i.Number), Type: typeIssue}); n != nil {
			n.Title, n.Done = cut(i.Title, maxTitle), i.Closed
		}
		for _, l := range i.Labels {
			r.node(Node{ID: "label:" + l, Type: typeLabel, Title: l})
			r.edge(issueID(i.Number), usesLabel, "label:"+l)
		}
	}
	named := map[string]string{} // words of each objective
	for _, id := range r.of(typeObjective) {
		named[id] = "-" + strings.TrimPrefix(id, "objective:") + "-"
	}
	for _, i := range issues {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		r.issue(i, closed, named)
	}
	return nil
}

func (r *reader) issue(i Issue, closed map[int]bool, named map[string]string) {
	d, id := parse(cut(i.Body, MaxFile)), issueID(i.Number)
	for _, n := range append(needs(d), i.DependsOn...) {
		if !closed[n] && !i.Closed {
			r.edge(issueID(n), blocks, id)
		}
	}
	for _, s := range d.sections {
		for _, t := range s.text {
			for _, n := range listed(reBlocks, t.s) {
				if !closed[n] && !i.Closed {
					r.edge(id, blocks, issueID(n))
				}
			}
		}
		for _, n := range s.issues {
			r.edge(id, references, issueID(n))
		}
		for _, c := range s.code {
			if to := r.named("", c); to != "" {
				r.edge(id, references, to)
			}
		}
	}
	words := "-" + fullSlug(cut(i.Title+"\n"+i.Body, MaxFile)) + "-"
	for _, o := range r.of(typeObjective) {
		if strings.Contains(words, named[o]) {
			r.edge(id, implements, o)
		}
	}
}

// needs are the issues that one says it waits for: in words, or in a list under
// Dependencies.
func needs(d document) (out []int) {
	for _, s := range d.sections {
		for _, t := range s.text {
			out = append(out, listed(reBlockedBy, t.s)...)
		}
		if reNeeds.MatchString(s.title) {
			for _, i := range s.items {
				if !i.done {
					out = append(out, i.issues...)
				}
			}
		}
	}
	return out
}

// listed returns the numbers that follow each match.
func listed(re *regexp.Regexp, s string) (out []int) {
	for _, m := range re.FindAllStringSubmatch(s, -1) {
		out = append(out, numbers(m[1])...)
	}
	return out
}

// keyed returns the numbers that JSON has under "issue".
func keyed(s string) (out []int) {
	for _, m := range reKeyed.FindAllStringSubmatch(s, -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			out = append(out, n)
		}
	}
	return out
}
