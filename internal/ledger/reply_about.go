package ledger

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"custos/internal/fleet"
)

var tellsOf = regexp.MustCompile(`\b(?:custos why|custos ack|approve) ([1-9][0-9]{0,17})\b`)

// numbersIn lists the numbers of the alerts that a message of Custos tells of.
func numbersIn(text string) (numbers []int64) {
	for _, m := range tellsOf.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.ParseInt(m[1], 10, 64); err == nil && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// About finds the alerts that a reply is about, of those that are known. With a
// number or without a name it is one; with a name (of the rule, the subject, or
// the end of its path) all that fire. about is the message of Custos it answers.
// The error says, for the person, why there is none.
func About(r Reply, about string, known []fleet.Alert) ([]fleet.Alert, error) {
	n := r.Number
	if n == 0 && r.Name == "" {
		numbers := numbersIn(about)
		switch len(numbers) {
		case 0:
			return nil, fmt.Errorf("say which alert, like %q: stuck lists them", string(r.Verb)+" 3")
		case 1:
			n = numbers[0]
		default:
			return nil, fmt.Errorf("that message tells of %s: say which, like \"%s %d\"", numberList(numbers), r.Verb, numbers[0])
		}
	}
	if n > 0 {
		a, err := alertNumbered(n, known)
		return []fleet.Alert{a}, err
	}
	var out []fleet.Alert
	for _, a := range known {
		if a.Status == fleet.AlertFiring && alertCalled(a, r.Name) {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no alert fires that is about %q: stuck lists them", fleet.Line(r.Name, 80))
	}
	return out, nil
}

// alertNumbered finds the alert of that number, if it still fires.
func alertNumbered(n int64, known []fleet.Alert) (fleet.Alert, error) {
	for _, a := range known {
		if a.Number != n {
			continue
		}
		if a.Status == fleet.AlertFiring {
			return a, nil
		}
		since := ""
		if !a.EndedAt.IsZero() {
			since = " since " + a.EndedAt.Wall.UTC().Format("15:04 MST")
		}
		return a, fmt.Errorf("alert %d is over%s", n, since)
	}
	return fleet.Alert{}, fmt.Errorf("no alert %d fires: it is over, or there never was one", n)
}

func alertCalled(a fleet.Alert, name string) bool {
	return name == a.Rule || name == a.Subject.String() || name == a.Subject.Name || name == path.Base(a.Subject.Name)
}

func numberList(numbers []int64) string {
	var out []string
	for _, n := range numbers {
		out = append(out, strconv.FormatInt(n, 10))
	}
	return strings.Join(out, ", ")
}

// Asked is how an alert was told last in a place.
type Asked struct {
	Key string        // of the Ask it was told with; "" for none
	At  fleet.Instant // when
}

// askHolds is for how long an ask may be answered.
const askHolds = 12 * time.Hour

// Bound says whether an approval or a denial holds: what would be done now is
// exactly what was asked in that place, not long ago, and not answered since. The
// error says, for the person, why not.
func Bound(number int64, asked Asked, now fleet.Ask, at fleet.Instant) error {
	switch {
	case now.Key() == "" && now.Refused != "":
		return fmt.Errorf("nothing can be approved for alert %d now: %s", number, now.Refused)
	case now.Key() == "":
		return fmt.Errorf("there is nothing to approve for alert %d now", number)
	case asked.Key == "":
		return fmt.Errorf("nothing was asked here about alert %d", number)
	case asked.Key != now.Key():
		return fmt.Errorf("what was asked about alert %d was answered, or is not what would be done now: it will be asked anew", number)
	case at.Since(asked.At) > askHolds || at.Since(asked.At) < 0:
		return fmt.Errorf("it was asked more than %d hours ago", int(askHolds.Hours()))
	}
	return nil
}
