ln -s Documents docs
