sed -i "s|BOX|$(dirname "$HOME")|" specs/refused-home-holder.toml
