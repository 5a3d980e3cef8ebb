package api

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// BrokenAt returns the offset of the first byte of a text that is not UTF-8, from 0; -1 where
// there is none.
func BrokenAt(text string) int {
	for at, r := range text {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(text[at:]); n == 1 {
				return at
			}
		}
	}
	return -1
}

// CheckUTF8 refuses a text that is not UTF-8, and names the first byte that is not, counted
// from 1: JSON has no word for such a byte, and another character would be sent in its place.
func CheckUTF8(what, text string) error {
	at := BrokenAt(text)
	if at < 0 {
		return nil
	}
	return &Error{Kind: BadInput, Message: fmt.Sprintf("cannot read the %s: it is not UTF-8 (0x%02X, byte %d): write it in UTF-8", what, text[at], at+1)}
}

// checkTexts refuses an order of which a text is not UTF-8, and says which.
func checkTexts(what string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		return CheckUTF8(what, v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return checkTexts(what, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := checkTexts(what, v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if err := checkTexts("name of a "+what, key); err != nil {
				return err
			}
			if err := checkTexts(what, v.MapIndex(key)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return checkFields(what, v)
	}
	return nil
}

func checkFields(what string, v reflect.Value) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() && !f.Anonymous {
			continue // is not sent
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		name = cmp.Or(name, what)
		if err := checkTexts(name, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}
