package agent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"custos/internal/agent/conversation"
	"custos/internal/fleet"
)

// ComposerMark finds what is typed at the prompt: the group text of Ends.
type ComposerMark struct {
	Ends string `toml:"ends"`
	// Placeholder are texts the CLI itself shows where nothing was typed.
	Placeholder []Pattern `toml:"placeholder"`
	// Pasted are what the CLI shows in place of a long text that was pasted. A group
	// lines is how many lines that text has, or how many more than one; nothing stands for none.
	Pasted []Pattern `toml:"pasted"`
	// Clear are keys, by tmux's names, that take some of what is typed there away, and
	// nothing else. They are pressed again until nothing is left. Without them Custos
	// cannot take back what it typed.
	Clear []string `toml:"clear"`
	// Special are the texts that the CLI takes for something else than a prompt.
	Special []SpecialMark `toml:"special"`
}

// SpecialMark is a text that would not arrive as a prompt, and what is done about that
// before it is typed: something is put before or behind it, or it is refused.
type SpecialMark struct {
	Says   string  `toml:"says"` // what the CLI takes it for
	Match  Pattern `toml:"match"`
	Prefix string  `toml:"prefix"`
	Suffix string  `toml:"suffix"`
	Pad    int     `toml:"pad"` // so many blanks behind it, which make a CLI take it for a long paste
	Refuse bool    `toml:"refuse"`
}

func (m SpecialMark) check() error {
	cures := 0
	for _, has := range []bool{m.Prefix != "", m.Suffix != "", m.Pad > 0, m.Refuse} {
		if has {
			cures++
		}
	}
	if m.Says == "" || m.Match.re == nil || cures != 1 {
		return fmt.Errorf("special %q: it needs says, match, and one of prefix, suffix, pad and refuse", m.Says)
	}
	for _, text := range samples(m.Match.re.String()) {
		if typed := m.asPrompt(text); !m.Refuse && m.Match.match(text) && m.Match.match(typed) {
			return fmt.Errorf("special %q: it matches what its own cure makes: %q is typed as %q, which it matches too", m.Says, text, typed)
		}
	}
	return nil
}

// asPrompt is the text as it has to be typed to arrive as a prompt.
func (m SpecialMark) asPrompt(text string) string {
	return m.Prefix + text + m.Suffix + strings.Repeat(" ", m.Pad)
}

// AsPrompt returns what has to be typed so that an agent of the kind takes the text for a
// prompt, and why that is not the text itself; "" where it is. An error says why no such
// thing is known.
func (k Kind) AsPrompt(text string) (typed, why string, err error) {
	typed = text
	var says []string
	for _, m := range k.Composer.Special {
		if !m.Match.match(typed) {
			continue
		}
		if m.Refuse {
			return "", "", fmt.Errorf("%s would take it for %s", k.Name, m.Says)
		}
		typed = m.asPrompt(typed)
		says = append(says, m.Says)
	}
	for _, m := range k.Composer.Special {
		if m.Match.match(typed) {
			return "", "", fmt.Errorf("%s would take it for %s, whatever is put around it", k.Name, m.Says)
		}
	}
	return typed, strings.Join(says, ", and "), nil
}

// FirstPrompt is the text as it is put on a command line for an agent of the kind to take it
// for a prompt: as it is typed, but for what is about typing alone.
func (k Kind) FirstPrompt(text string) string {
	for _, m := range k.Composer.Special {
		if m.Match.match(text) && !m.Refuse && m.Pad == 0 {
			text = m.asPrompt(text)
		}
	}
	return text
}

func (k *Kind) finishComposer() (err error) {
	k.composer = nil
	for _, m := range k.Composer.Special {
		if err := m.check(); err != nil {
			return fmt.Errorf("composer: %w", err)
		}
	}
	if k.Composer.Ends == "" {
		return nil
	}
	if k.composer, err = k.compile(k.Composer.Ends); err != nil {
		return fmt.Errorf("composer: %w", err)
	}
	if !slices.Contains(k.composer.SubexpNames(), "text") {
		return errors.New("composer: ends needs a group text")
	}
	return nil
}

// Composer returns what an agent's prompt shows as typed, "" for nothing. It is unknown
// when the prompt is not at the end of the screen. Known placeholders count as nothing.
func Composer(k Kind, screen string) fleet.Leaf[string] {
	if k.composer == nil {
		return fleet.Unknown[string]("it is not known where " + k.Name + " shows what is typed")
	}
	for _, end := range ends(screen) {
		at := k.composer.FindStringSubmatch(end)
		if at == nil {
			continue
		}
		text := at[k.composer.SubexpIndex("text")]
		if k.nothingTyped(text) {
			text = ""
		}
		return fleet.Known(text)
	}
	return fleet.Unknown[string]("its prompt is not at the end of the screen")
}

// ComposerEmpty says whether nothing is typed at the prompt of an agent. It is
// unknown when the prompt is not at the end of the screen. Known placeholders
// count as nothing; any other text is a person's.
func ComposerEmpty(k Kind, screen string) fleet.Leaf[bool] {
	return IsEmpty(Composer(k, screen))
}

// IsEmpty says of what Composer returns whether that is nothing.
func IsEmpty(composer fleet.Leaf[string]) fleet.Leaf[bool] {
	if shown, ok := composer.Get(); ok {
		return fleet.Known(shown == "")
	}
	return fleet.Unknown[bool](composer.Why())
}

func (k Kind) nothingTyped(text string) bool {
	text = strings.Join(strings.Fields(unframed(text)), " ")
	return text == "" || slices.ContainsFunc(k.Composer.Placeholder, func(p Pattern) bool { return p.match(text) })
}

// Shows says whether what a prompt shows is a text that was typed there, and nothing but
// that: the whole of it, wrapped in whatever way, or what the CLI shows in place of a paste of
// its length.
func (k Kind) Shows(shown, text string) bool {
	is, was := dense(shown), dense(text)
	return is != "" && is == was || k.showsPaste(shown, text)
}

// IsNewestPrompt says whether what a prompt shows is, to the letter, the newest one that the
// events tell of: some CLIs put it back there when a turn is interrupted.
func IsNewestPrompt(shown string, told []fleet.HookEvent) bool {
	var newest fleet.HookEvent
	for _, e := range told {
		if e.Event == fleet.HookPrompt && !e.At.Before(newest.At) {
			newest = e
		}
	}
	hash, _, _ := strings.Cut(newest.Text, " ")
	return shown != "" && hash == conversation.PromptHash(shown)
}

// Rest says whether what a prompt shows is what is left of a text that was typed there, the end
// of it being taken away: some words from its beginning, and nothing else.
func (k Kind) Rest(shown, text string) bool {
	is := dense(shown)
	return is != "" && strings.HasPrefix(dense(text), is)
}

// Completed says whether what a prompt shows is a text that was typed there, the last word of
// which begins with / @ or $ and its CLI has completed: all before that word, and in place of it
// one other that begins with the same sign, or has its letters in their order. Nothing stands
// behind it.
func (k Kind) Completed(shown, text string) bool {
	words := strings.Fields(fleet.Text(text))
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	made, ok := behind(unframed(fleet.Text(shown)), dense(strings.Join(words[:len(words)-1], " ")))
	if !ok || made == last || len(strings.Fields(made)) != 1 {
		return false
	}
	letters := strings.TrimLeft(last, "/@$")
	if letters == last {
		return false // no CLI completes it
	}
	return made[0] == last[0] || letters != "" && spells(strings.ToLower(made), strings.ToLower(letters))
}

// behind is what stands in a text behind its beginning, which is given without white space;
// a word of the beginning ends with it.
func behind(text, dense string) (rest string, ok bool) {
	for _, want := range dense {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		r, n := utf8.DecodeRuneInString(text)
		if r != want || n == 0 {
			return "", false
		}
		text = text[n:]
	}
	rest = strings.TrimLeftFunc(text, unicode.IsSpace)
	return strings.TrimSpace(rest), dense == "" || rest != text
}

// spells says whether a word has some letters, in their order.
func spells(word, letters string) bool {
	for _, r := range letters {
		_, after, ok := strings.Cut(word, string(r))
		if !ok {
			return false
		}
		word = after
	}
	return true
}

func (k Kind) showsPaste(shown, text string) bool {
	shown = strings.Join(strings.Fields(unframed(shown)), " ")
	lines := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
	return slices.ContainsFunc(k.Composer.Pasted, func(p Pattern) bool {
		if p.re == nil {
			return false
		}
		at := p.re.FindStringSubmatch(shown)
		if at == nil || at[0] != shown {
			return false
		}
		i := p.re.SubexpIndex("lines")
		if i < 0 {
			return true
		}
		n, err := strconv.Atoi(cmp.Or(at[i], "0"))
		return err == nil && (n == lines || n == lines-1)
	})
}

// dense is a text without its white space and frames: terminals wrap lines where they like.
func dense(text string) string {
	return strings.Join(strings.Fields(unframed(fleet.Text(text))), "")
}
