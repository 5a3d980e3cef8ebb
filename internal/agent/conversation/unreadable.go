package conversation

import (
	"errors"
	json "github.com/go-json-experiment/json/v1"
	"math"
	"strings"

	"custos/internal/fleet"
)

// What a number of tokens cannot be.
var (
	errBelowZero = errors.New("a number of tokens is below zero")
	errFraction  = errors.New("a number of tokens is a fraction")
	errTooMany   = errors.New("a number of tokens is more than a response can have")
)

// badTokens is why a number is none of tokens; nil for one that is.
func badTokens(n float64) error {
	switch {
	case n < 0:
		return errBelowZero
	case math.IsNaN(n), n > mostTokens:
		return errTooMany
	case n != math.Trunc(n):
		return errFraction
	}
	return nil
}

// Unreadable is what was wrong with a line, for an error of Read or Spent: in the same words for each line that
// is wrong in that way, without what the line says.
func Unreadable(err error) string {
	var mistyped *json.UnmarshalTypeError
	var broken *json.SyntaxError
	switch {
	case errors.As(err, &mistyped):
		return mistypedWords(mistyped)
	case errors.As(err, &broken):
		return "it is no JSON"
	}
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(err) {
		err = cause
	}
	return fleet.Line(err.Error(), 100)
}

func mistypedWords(e *json.UnmarshalTypeError) string {
	field := e.Field[strings.LastIndexByte(e.Field, '.')+1:]
	if field == "" {
		field = "what it tells"
	}
	want := "a number"
	if kind := e.Type.Kind().String(); !strings.Contains(kind, "int") && !strings.Contains(kind, "float") {
		want = "a " + kind
	}
	is, number, _ := strings.Cut(e.Value+" ", " ")
	if number != "" && want == "a number" {
		return fleet.Line(field, 60) + " is a number that is too large for any counter"
	}
	article := " is a "
	if strings.ContainsRune("ao", rune(is[0])) { // array, object
		article = " is an "
	}
	return fleet.Line(field, 60) + article + is + ", and ought to be " + want
}
