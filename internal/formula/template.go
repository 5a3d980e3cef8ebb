package formula

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A text may hold {{name}}, {{#if name}}…{{else}}…{{/if}}, {{#unless name}} and
// {{#each name}} (over the lines of a value, {{.}} being one). In a convoy the
// forms of Go's templates are read too: {{.leg.id}}, {{if .x}}…{{end}},
// {{range .x}}. Elsewhere {{.Names}} is another program's, Docker's as a rule, and
// stays as it is, like ${{ … }} everywhere.

var tagRE = regexp.MustCompile(`\$?\{\{(-?)[ \t]*([^{}]*?)[ \t]*(-?)\}\}`)

var nameRE = regexp.MustCompile(`^\.?[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$`)

// maxBlocks is how deep blocks may lie in one another.
const maxBlocks = 16

// template is a text that was read.
type template []piece

// piece is text, or a value by its name, or a block.
type piece struct {
	text  string
	name  string
	tag   string // name as it was written
	block string // if, unless, each
	then  template
	other template
}

type token struct {
	piece
	word string // "", else, end; set for tags that are no piece by themselves
	tag  string // as it was written
}

// readTemplate reads a text; dotted reads Go's forms too.
func readTemplate(text string, dotted bool) (template, error) {
	if !strings.Contains(text, "{{") {
		return template{{text: text}}, nil
	}
	p := &templateReader{tokens: tokens(text, dotted)}
	t, err := p.block(0)
	return t, err
}

func tokens(text string, dotted bool) (out []token) {
	at := 0
	trim := false
	for _, m := range tagRE.FindAllStringSubmatchIndex(text, -1) {
		t, ok := tagOf(text[m[0]:m[1]], text[m[4]:m[5]], dotted)
		if !ok {
			continue
		}
		before := text[at:m[0]]
		if trim {
			before = strings.TrimLeft(before, " \t\r\n")
		}
		if m[3] > m[2] {
			before = strings.TrimRight(before, " \t\r\n")
		}
		out = append(out, token{piece: piece{text: before}}, t)
		at, trim = m[1], m[7] > m[6]
	}
	rest := text[at:]
	if trim {
		rest = strings.TrimLeft(rest, " \t\r\n")
	}
	return append(out, token{piece: piece{text: rest}})
}

// tagOf reads what is between the braces; what it does not know is text.
func tagOf(whole, inner string, dotted bool) (token, bool) {
	if whole[0] == '$' {
		return token{}, false
	}
	words := strings.Fields(inner)
	switch len(words) {
	case 1:
		return oneWord(whole, words[0], dotted)
	case 2:
		return twoWords(whole, words, dotted)
	}
	return token{}, false
}

func oneWord(whole, w string, dotted bool) (token, bool) {
	switch {
	case w == "else":
		return token{word: "else", tag: whole}, true
	case w == "end" || w == "/if" || w == "/unless" || w == "/each":
		return token{word: "end", tag: whole}, true
	case w == "." || w == "this":
		return token{piece: piece{name: "."}, tag: whole}, true
	case nameRE.MatchString(w) && (dotted || w[0] != '.'):
		return token{piece: piece{name: strings.TrimPrefix(w, "."), tag: whole}, tag: whole}, true
	}
	return token{}, false
}

func twoWords(whole string, words []string, dotted bool) (token, bool) {
	kinds := map[string]string{"#if": "if", "#unless": "unless", "#each": "each"}
	if dotted {
		kinds["if"], kinds["range"] = "if", "each"
	}
	block, ok := kinds[words[0]]
	if !ok || !nameRE.MatchString(words[1]) {
		return token{}, false
	}
	return token{piece: piece{block: block, name: strings.TrimPrefix(words[1], ".")}, tag: whole}, true
}

type templateReader struct {
	tokens []token
	at     int
}

// block reads up to the tag that ends it. Outside of a block such a tag is text.
func (p *templateReader) block(depth int) (template, error) {
	if depth > maxBlocks {
		return nil, fmt.Errorf("blocks are nested more than %d deep", maxBlocks)
	}
	var t template
	for ; p.at < len(p.tokens); p.at++ {
		k := p.tokens[p.at]
		switch {
		case k.word != "" && depth > 0:
			return t, nil
		case k.word != "" || k.name == "." && depth == 0:
			t = append(t, piece{text: k.tag})
		case k.block != "":
			if err := p.inner(&k, depth); err != nil {
				return nil, err
			}
			t = append(t, k.piece)
		default:
			t = append(t, k.piece)
		}
	}
	if depth > 0 {
		return nil, fmt.Errorf("a block is not ended")
	}
	return t, nil
}

// inner reads the branches of a block and stops at its end.
func (p *templateReader) inner(k *token, depth int) (err error) {
	p.at++
	if k.then, err = p.block(depth + 1); err != nil {
		return fmt.Errorf("cannot read %s: %w", k.tag, err)
	}
	if p.tokens[p.at].word != "else" {
		return nil
	}
	p.at++
	if k.other, err = p.block(depth + 1); err != nil {
		return fmt.Errorf("cannot read %s: %w", k.tag, err)
	}
	if p.tokens[p.at].word == "else" {
		return fmt.Errorf("cannot read %s: it has two {{else}}", k.tag)
	}
	return nil
}

// names lists the variables a template reads, in order.
func (t template) names() (out []string) {
	for _, p := range t {
		if p.name != "" && p.name != "." {
			out = append(out, p.name)
		}
		out = append(out, p.then.names()...)
		out = append(out, p.other.names()...)
	}
	return out
}

// render puts values in. A value is put in as it is: what it looks like is not
// read again. Names without a value are returned, and stay as they were written.
func (t template) render(get func(string) (string, bool)) (string, []string) {
	var b strings.Builder
	var missing []string
	for _, p := range t {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		v, ok := get(p.name)
		if !ok {
			missing, v = append(missing, p.name), p.tag
		}
		if !ok && p.block != "" {
			v = ""
		}
		s, more := p.value(v, get)
		b.WriteString(s)
		missing = append(missing, more...)
		if b.Len() > MaxBytes {
			break
		}
	}
	return b.String(), missing
}

func (p piece) value(v string, get func(string) (string, bool)) (string, []string) {
	switch p.block {
	case "if", "unless":
		if truth(v) == (p.block == "if") {
			return p.then.render(get)
		}
		return p.other.render(get)
	case "each":
		return p.each(v, get)
	}
	return v, nil
}

func (p piece) each(v string, get func(string) (string, bool)) (string, []string) {
	items := slices.DeleteFunc(strings.Split(v, "\n"), func(s string) bool { return s == "" })
	if len(items) == 0 {
		return p.other.render(get)
	}
	var b strings.Builder
	var missing []string
	for _, item := range items {
		s, more := p.then.render(func(name string) (string, bool) {
			if name == "." {
				return item, true
			}
			return get(name)
		})
		b.WriteString(s)
		if missing = append(missing, more...); b.Len() > MaxBytes {
			break
		}
	}
	return b.String(), missing
}

// truth is what Gas Town takes for true.
func truth(v string) bool {
	switch strings.ToLower(v) {
	case "", "false", "0", "no", "off":
		return false
	}
	return true
}

var braceRE = regexp.MustCompile(`\{\{|\}\}|\$?\{([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_]+)?)\}`)

// braces puts values in for {name}, the form of expansions, advice and loops.
// Only the names given are looked for: anything else in braces, and ${name}, is
// text.
func braces(text string, values map[string]string) string {
	if len(values) == 0 || !strings.Contains(text, "{") {
		return text
	}
	return braceRE.ReplaceAllStringFunc(text, func(m string) string {
		if v, ok := values[strings.Trim(m, "{}")]; ok && m[0] == '{' && !strings.HasPrefix(m, "{{") {
			return v
		}
		return m
	})
}
