package index

import (
	"context"
	"fmt"

	"github.com/mallardmem/mallard/engine/internal/duck"
	"github.com/mallardmem/mallard/engine/internal/fault"
	"github.com/mallardmem/mallard/engine/text"
)

// adoptLanguage makes the tokenizer of the file's language, which a new file takes from the options.
func (ix *Index) adoptLanguage(ctx context.Context) error {
	language := ix.opts.Language
	found, err := ix.file.Setting(ctx, ix.file.Conn, "language", &language)
	if err != nil {
		return err
	}
	if !found && !ix.opts.ReadOnly {
		if err := ix.file.Prepare(ctx, func(tx *duck.Write) error { return ix.file.PutSetting(ctx, tx, "language", language) }); err != nil {
			return err
		}
	}
	if ix.Analyzer, err = text.NewAnalyzer(language); err != nil {
		return fmt.Errorf("%w: setting language: %w", fault.ErrCorrupt, err)
	}
	return nil
}

// Language is the one of the file's tokenizer.
func (ix *Index) Language(ctx context.Context) (language string, err error) {
	err = ix.file.Read(ctx, "language", func(c *duck.Conn) error {
		_, err := ix.file.Setting(ctx, c, "language", &language)
		return err
	})
	return language, err
}
