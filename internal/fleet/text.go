package fleet

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Path turns a path as the kernel gave it into one that is safe to show, store
// and send: bytes that are no UTF-8, control characters and backslashes become
// \xNN. RawPath turns it back, byte for byte. Every path in this package is in
// this form.
func Path(raw string) string {
	if isPlain(raw) {
		return raw
	}
	var b strings.Builder
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRuneInString(raw[i:])
		if r == '\\' || !unicode.IsPrint(r) || r == utf8.RuneError && n == 1 {
			for _, c := range []byte(raw[i : i+n]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		} else {
			b.WriteString(raw[i : i+n])
		}
		i += n
	}
	return b.String()
}

func isPlain(s string) bool {
	for _, r := range s {
		if r == '\\' || r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// RawPath turns what Path returned back into the path the kernel knows.
func RawPath(safe string) string {
	if !strings.Contains(safe, `\x`) {
		return safe
	}
	var b strings.Builder
	for i := 0; i < len(safe); {
		var c byte
		if strings.HasPrefix(safe[i:], `\x`) && len(safe) >= i+4 {
			if _, err := fmt.Sscanf(safe[i+2:i+4], "%02x", &c); err == nil {
				b.WriteByte(c)
				i += 4
				continue
			}
		}
		b.WriteByte(safe[i])
		i++
	}
	return b.String()
}

var escapes = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[PX^_][^\x1b]*(?:\x1b\\)?|\x1b[ -/]*[0-~]?`)

// Text makes anything a program wrote safe to show: terminal escapes and
// control characters are dropped (tab and newline stay), broken UTF-8 replaced.
func Text(raw string) string {
	raw = strings.ToValidUTF8(escapes.ReplaceAllString(raw, ""), "\uFFFD")
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, raw)
}

// Line is Text on one line, cut to at most n runes.
func Line(raw string, n int) string {
	s := strings.Join(strings.Fields(Text(raw)), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

var secrets = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b([a-z0-9_-]*(?:token|secret|passw(?:or)?d|api[_-]?key|authorization|credential)[a-z0-9_-]*["']?\s*[=:]\s*["']?(?:bearer\s+|basic\s+|token\s+)?)([^\s"',;]+)`),
	regexp.MustCompile(`(?i)(\bbearer\s+)([a-z0-9._~+/=-]{8,})`),
	regexp.MustCompile(`()\b(sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|xox[abprs]-[A-Za-z0-9-]{8,}|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+)`),
	regexp.MustCompile(`(://[^/\s:@]+:)([^/\s@]+)(?:@)`),
}

// Redact replaces what looks like a secret by ***.
func Redact(s string) string {
	for i, re := range secrets {
		to := "${1}***"
		if i == len(secrets)-1 {
			to += "@"
		}
		s = re.ReplaceAllString(s, to)
	}
	return s
}

// RedactArgs redacts a command line, argument by argument; the value that
// follows a flag with a secret's name is redacted too. Each argument is made
// safe to show and cut to 200 runes, the whole to 32 arguments.
func RedactArgs(args []string) []string {
	out := make([]string, 0, min(len(args), 32))
	hide := false
	for i, a := range args {
		if i == 32 {
			break
		}
		switch {
		case hide:
			a = "***"
		default:
			a = Redact(a)
		}
		hide = isSecretFlag(args[i])
		out = append(out, Line(a, 200))
	}
	return out
}

var secretFlag = regexp.MustCompile(`(?i)^--?[a-z0-9-]*(token|secret|password|passwd|api-?key|credential)[a-z0-9-]*$`)

func isSecretFlag(a string) bool { return secretFlag.MatchString(a) }
