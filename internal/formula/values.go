package formula

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"custos/internal/nearest"
)

// EnvName is the environment variable by which a script reads a variable of
// its formula.
func EnvName(variable string) string {
	return "CUSTOS_VAR_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, variable)
}

// check refuses a value that the variable may not have. The empty value of a
// variable that is not required is no value.
func (v Var) check(value string) error {
	re, err := v.pattern()
	switch {
	case err != nil:
		return err
	case value == "":
		return nil
	case len(value) > maxValue:
		return fmt.Errorf("the value has %d bytes, at most %d are taken", len(value), maxValue)
	case strings.ContainsRune(value, 0):
		return fmt.Errorf("the value holds a NUL byte")
	case len(v.Enum) > 0 && !slices.Contains(v.Enum, value):
		return fmt.Errorf("%q is none of %s%s", value, strings.Join(v.Enum, ", "), nearest.Choice(value, v.Enum))
	case re != nil && !re.MatchString(value):
		return fmt.Errorf("%q does not match %s", value, v.Pattern)
	}
	return v.typed(value)
}

func (v Var) pattern() (*regexp.Regexp, error) {
	if v.Pattern == "" {
		return nil, nil
	}
	if len(v.Pattern) > 1000 {
		return nil, fmt.Errorf("the pattern has more than 1000 bytes")
	}
	re, err := regexp.Compile(`\A(?:` + v.Pattern + `)\z`)
	if err != nil {
		return nil, fmt.Errorf("cannot read pattern: %w", err)
	}
	return re, nil
}

func (v Var) typed(value string) error {
	var err error
	switch v.Type {
	case "int", "integer":
		_, err = strconv.ParseInt(value, 10, 64)
	case "number", "float":
		_, err = strconv.ParseFloat(value, 64)
	case "bool", "boolean":
		_, err = strconv.ParseBool(value)
	}
	if err != nil {
		return fmt.Errorf("%q is no %s", value, v.Type)
	}
	return nil
}

// narrow reports whether the author said what the values may be.
func (v Var) narrow() bool {
	return len(v.Enum) > 0 || v.Pattern != "" || v.Type != "" && v.Type != "string"
}
