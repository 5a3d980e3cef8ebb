package agent

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// samples returns texts that an expression may match, a few for each of its alternatives: the
// shortest that it describes. What it asks of the places around a text is not looked at.
func samples(expression string) []string {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil
	}
	return sampled(re)
}

// mostSamples bounds what alternatives in a row multiply to.
const mostSamples = 64

func sampled(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCharClass:
		return []string{string(ofClass(re.Rune))}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []string{"a"}
	case syntax.OpCapture, syntax.OpPlus:
		return sampled(re.Sub[0])
	case syntax.OpRepeat:
		return repeated(sampled(re.Sub[0]), re.Min)
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			all = append(all, sampled(sub)...)
		}
		return all[:min(len(all), mostSamples)]
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range re.Sub {
			all = joined(all, sampled(sub))
		}
		return all
	}
	return []string{""} // nothing, as often as not, or a place
}

func repeated(each []string, times int) (all []string) {
	for _, s := range each {
		all = append(all, strings.Repeat(s, times))
	}
	return all
}

func joined(before, behind []string) (all []string) {
	for _, a := range before {
		for _, b := range behind {
			all = append(all, a+b)
		}
	}
	return all[:min(len(all), mostSamples)]
}

// ofClass is a plain character of a class, which is pairs of first and last, where it has one.
func ofClass(pairs []rune) rune {
	for _, r := range slices.Concat([]rune("a0 "), pairs) {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] <= r && r <= pairs[i+1] {
				return r
			}
		}
	}
	return 'a' // of an empty class
}
