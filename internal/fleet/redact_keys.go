package fleet

import (
	"regexp"
	"slices"
	"strings"
)

var (
	keys = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`)
	// keyEnds is all before the end of a key whose beginning is not there any more.
	keyEnds = regexp.MustCompile(`(?s)\A.*-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----`)
	// keyLine is a line of base64 alone, as it is listed, quoted or framed.
	keyLine = regexp.MustCompile(`^(?:[0-9]{1,6}[^A-Za-z0-9+/=]+)?([A-Za-z0-9+/]+={0,2})(?:\\[nr])*[^A-Za-z0-9/=]*$`)
)

// hideKeys takes private keys out of a text, and what may be the middle of one.
func hideKeys(s string) string {
	if strings.Contains(s, "PRIVATE KEY") {
		s = keyEnds.ReplaceAllString(keys.ReplaceAllString(s, "***"), "***")
	}
	if !strings.Contains(s, "\n") {
		return s
	}
	lines := strings.Split(s, "\n")
	hidden := middles(lines)
	if hidden == nil {
		return s
	}
	for i := range lines {
		if hidden[i] {
			lines[i] = "***"
		}
	}
	return strings.Join(lines, "\n")
}

// MayHaveKey says whether lines have a private key among them, or what may be the middle of one.
func MayHaveKey(lines []string) bool {
	return slices.ContainsFunc(lines, ofKey) || middles(lines) != nil
}

// window is how many lines in a row are taken for a key: three hashes or names below each
// other are common, three lines of 64 characters at random are not.
const window = 3

// middles says which lines may be of the middle of a key: those in a row that are base64 alone,
// where some of them look random. What says that it is something else (a certificate) is none.
// It is nil for no line.
func middles(lines []string) (hidden []bool) {
	for from := 0; from < len(lines); {
		row := rowFrom(lines[from:])
		to := from + len(row)
		if len(row) >= window && isKey(row) && !(from > 0 && strings.Contains(lines[from-1], "-----BEGIN ")) && !(to < len(lines) && strings.Contains(lines[to], "-----END ")) {
			if hidden == nil {
				hidden = make([]bool, len(lines))
			}
			for i := from; i < to; i++ {
				hidden[i] = true
			}
		}
		from = max(to, from+1)
	}
	return hidden
}

// rowFrom are the lines that are base64 alone with which lines begin. One that is hidden
// already breaks none off: another rule may have known a part of a key for a secret.
func rowFrom(lines []string) (row []string) {
	for _, l := range lines {
		body := keyBody(l)
		if body == "" && !isMasked(l) {
			break
		}
		row = append(row, body)
	}
	return row
}

// isKey says whether some lines of a row look random.
func isKey(row []string) bool {
	for i := range len(row) - window + 1 {
		if isRandom(row[i : i+window]) {
			return true
		}
	}
	return false
}

// keyBody is the base64 that a line is made of; "" where there is anything else.
func keyBody(line string) string {
	m := keyLine.FindStringSubmatch(strings.TrimFunc(line, func(r rune) bool { return !isBase64(r) }))
	if m == nil {
		return ""
	}
	return m[1]
}

// isMasked says whether of a line nothing is shown.
func isMasked(line string) bool { return strings.Trim(line, " \t│|") == "***" }

func isBase64(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '+' || r == '/' || r == '='
}

// isRandom says whether lines are at random of upper and lower case and digits. Hashes have one
// case, paths have slashes, and names change from one to another less often: of random base64
// 0.65 of all neighbours are of two sorts. Lines of one length may have the zeros that a key
// begins with.
func isRandom(lines []string) bool {
	var count [4]int // lower, upper, digit, else
	total, changes, slashes := 0, 0, 0
	for _, l := range lines {
		before := -1
		for _, r := range l {
			sort := sortOf(r)
			count[sort]++
			if total++; before >= 0 && sort != before {
				changes++
			}
			if before = sort; r == '/' {
				slashes++
			}
		}
	}
	least := 0.5
	if n := len(lines[0]); n >= 40 && len(lines[1]) == n && len(lines[2]) <= n {
		least = 0.25
	}
	return total >= 80 && min(count[0], count[1], count[2])*20 >= total && slashes*16 <= total && float64(changes) >= least*float64(total)
}

func sortOf(r rune) int {
	switch {
	case 'a' <= r && r <= 'z':
		return 0
	case 'A' <= r && r <= 'Z':
		return 1
	case '0' <= r && r <= '9':
		return 2
	}
	return 3
}
